/* SPDX-License-Identifier: ISC
 *
 * Detects truncated programs and libraries: once mapped, they cause SIGBUS or SIGSEGV. Nothing here allocates
 * memory. */
#ifndef ONCEDROP_ELF_FILE_H
#define ONCEDROP_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the file is ELF (elf(5)) of this word size, with all mapped segments. On false errno is ENOEXEC,
 * or why it is unreadable. */
bool elf_file_is_complete(const char *path);

#define ELF_NAMES_MAX 32

struct elf_names {
    size_t count;
    char name[ELF_NAMES_MAX][64];
};

/* Returns false, with names unchanged, if they are too many or too long. */
bool elf_names_add(struct elf_names *names, const char *name);

/* Adds the libraries that the file itself needs (DT_NEEDED). On false errno is as above, ENOEXEC also if names do
 * not fit; some may have been added. */
bool elf_file_add_needed(const char *path, struct elf_names *names);

#endif
