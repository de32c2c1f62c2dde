/* SPDX-License-Identifier: ISC */

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#define SEGMENTS_MAX 32 /* programs have about 12 */
#define DYNAMIC_MAX 128 /* libraries have about 30 entries */

struct segments {
    size_t count;
    ElfW(Phdr) all[SEGMENTS_MAX];
};

static bool read_at(int fd, void *to, size_t size, size_t offset)
{
    return TEMP_FAILURE_RETRY(pread(fd, to, size, (off_t)offset)) == (ssize_t)size;
}

static bool holds_segments(int fd, size_t size, struct segments *ret)
{
    ElfW(Ehdr) header;
    if (!read_at(fd, &header, sizeof(header), 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(*ret->all) || header.e_phnum == 0 || header.e_phnum > SEGMENTS_MAX ||
        !read_at(fd, ret->all, header.e_phnum * sizeof(*ret->all), header.e_phoff))
        return false;
    ret->count = header.e_phnum;
    for (size_t i = 0; i < ret->count; i++)
        if (ret->all[i].p_type == PT_LOAD &&
            (ret->all[i].p_filesz > size || ret->all[i].p_offset > size - ret->all[i].p_filesz))
            return false;
    return true;
}

/* Returns the descriptor of a complete file; -1 with errno set. */
static int open_complete(const char *path, struct segments *ret)
{
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return -1;
    if (!holds_segments(fd, (size_t)status.st_size, ret)) {
        errno = ENOEXEC;
        return -1;
    }
    int complete = fd;
    fd = -1;
    return complete;
}

bool elf_file_is_complete(const char *path)
{
    struct segments segments;
    int fd OD_CLEANUP(base_close) = open_complete(path, &segments);
    return fd >= 0;
}

bool elf_names_add(struct elf_names *names, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0)
            return true;
    if (names->count == ELF_NAMES_MAX || length >= sizeof(names->name[0]))
        return false;
    memcpy(names->name[names->count++], name, length + 1);
    return true;
}

/* Returns the file offset of this address; 0: none. */
static size_t offset_of(const struct segments *segments, ElfW(Addr) address)
{
    for (size_t i = 0; i < segments->count; i++) {
        const ElfW(Phdr) *segment = &segments->all[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz)
            return segment->p_offset + (address - segment->p_vaddr);
    }
    return 0;
}

/* Returns the number of dynamic entries; 0: unreadable. */
static size_t read_dynamic(int fd, const struct segments *segments, ElfW(Dyn) entries[DYNAMIC_MAX])
{
    for (size_t i = 0; i < segments->count; i++) {
        size_t count = segments->all[i].p_filesz / sizeof(*entries);
        if (segments->all[i].p_type == PT_DYNAMIC)
            return count <= DYNAMIC_MAX && read_at(fd, entries, count * sizeof(*entries), segments->all[i].p_offset)
                       ? count
                       : 0;
    }
    return 0;
}

static bool add_name_at(int fd, size_t offset, struct elf_names *names)
{
    char name[sizeof(names->name[0])];
    ssize_t length = TEMP_FAILURE_RETRY(pread(fd, name, sizeof(name), (off_t)offset));
    return length > 0 && memchr(name, '\0', (size_t)length) != NULL && elf_names_add(names, name);
}

static bool add_needed(int fd, const struct segments *segments, struct elf_names *names)
{
    ElfW(Dyn) entries[DYNAMIC_MAX];
    size_t count = read_dynamic(fd, segments, entries), strings = 0, used = 0;
    for (; used < count && entries[used].d_tag != DT_NULL; used++)
        if (entries[used].d_tag == DT_STRTAB)
            strings = offset_of(segments, entries[used].d_un.d_ptr);
    if (strings == 0)
        return false;
    for (size_t i = 0; i < used; i++)
        if (entries[i].d_tag == DT_NEEDED && !add_name_at(fd, strings + entries[i].d_un.d_val, names))
            return false;
    return true;
}

bool elf_file_add_needed(const char *path, struct elf_names *names)
{
    struct segments segments;
    int fd OD_CLEANUP(base_close) = open_complete(path, &segments);
    if (fd < 0)
        return false;
    if (add_needed(fd, &segments, names))
        return true;
    errno = ENOEXEC;
    return false;
}
