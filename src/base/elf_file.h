/* SPDX-License-Identifier: ISC
 *
 * Programs and modules that were cut short. The kernel and ld.so(8) map such a file, and the process dies by SIGBUS or SIGSEGV
 * when it touches what is missing. */
#ifndef ONCEDROP_ELF_FILE_H
#define ONCEDROP_ELF_FILE_H

#include <stdbool.h>

/* Opens the file and compares its size with its own headers. Returns true if it is an ELF file (elf(5)) of this machine's word
 * size, and is long enough for all that is mapped of it. False with errno set: ENOEXEC if it is not, else why it cannot be read.
 * Allocates nothing. */
bool elf_file_is_complete(const char *path);

#endif
