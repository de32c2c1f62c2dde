/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 32 /* programs have about 12 */

static bool read_at(int fd, void *to, size_t size, size_t offset)
{
    return TEMP_FAILURE_RETRY(pread(fd, to, size, (off_t)offset)) == (ssize_t)size;
}

static bool holds_segments(int fd, size_t size)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[SEGMENTS_MAX];
    if (!read_at(fd, &header, sizeof(header), 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(*segments) || header.e_phnum == 0 || header.e_phnum > SEGMENTS_MAX ||
        !read_at(fd, segments, header.e_phnum * sizeof(*segments), header.e_phoff))
        return false;
    for (size_t i = 0; i < header.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD &&
            (segments[i].p_filesz > size || segments[i].p_offset > size - segments[i].p_filesz))
            return false;
    return true;
}

bool elf_file_is_complete(const char *path)
{
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return false;
    bool complete = holds_segments(fd, (size_t)status.st_size);
    errno = complete ? 0 : ENOEXEC;
    return complete;
}
