/* SPDX-License-Identifier: ISC
 *
 * Programs, modules and libraries that were cut short, and what they need. The kernel and ld.so(8) map such a file, and the process dies by SIGBUS or SIGSEGV
 * when it touches what is missing. */
#ifndef ONCEDROP_ELF_FILE_H
#define ONCEDROP_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the file and compares its size with its own headers. Returns true if it is an ELF file (elf(5)) of this machine's word
 * size, and is long enough for all that is mapped of it. False with errno set: ENOEXEC if it is not, else why it cannot be read.
 * Allocates nothing. */
bool elf_file_is_complete(const char *path);

#define ELF_NAMES_MOST 32

/* Names of libraries, each once. */
struct elf_names {
    size_t count;
    char name[ELF_NAMES_MOST][64];
};

/* False, with the names as they were, if there are too many, or this one is too long. Allocates nothing. */
bool elf_names_add(struct elf_names *names, const char *name);

/* Adds the names of the libraries that the file asks for itself (DT_NEEDED). False with errno set, as for elf_file_is_complete, and
 * ENOEXEC also if they cannot be read or do not fit; some may then have been added. Allocates nothing. */
bool elf_file_add_needed(const char *path, struct elf_names *names);

#endif
