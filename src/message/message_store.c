/* SPDX-License-Identifier: ISC
 *
 * The bytes of a message, in memory or in an unlinked temporary file. */
#include "message/message_store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY_MAX ((size_t)1 << 20)

struct message_store {
    unsigned char *memory; /* NULL once the file is in use */
    size_t allocated;
    int fd;
    void *map;
    size_t size;
};

struct message_store *message_store_new(void)
{
    struct message_store *store = base_alloc(sizeof *store);

    store->fd = -1;
    return store;
}

/* A program that runs with more rights than its caller does not let the caller choose the directory. */
static const char *temporary_directory(void)
{
    const char *directory = secure_getenv("TMPDIR");

    return directory && *directory ? directory : "/tmp";
}

static bool fault_file(struct fault *fault, const char *what, int error)
{
    const char *remedy = "";

    if (error == EFBIG)
        remedy = "; a file size limit is set (for Postfix's local(8) it is mailbox_size_limit)";
    else if (error == ENOSPC || error == EDQUOT)
        remedy = "; make room there or set TMPDIR to another directory";
    else if (error == ENOENT || error == EACCES || error == EROFS || error == ENOTDIR)
        remedy = "; set TMPDIR to a directory that can be written to";
    fault_set(fault, "cannot %s temporary file for the message in %s: %s%s", what, temporary_directory(),
              strerror(error), remedy);
    return false;
}

static int temporary_file(void)
{
    const char *directory = temporary_directory();
    int fd = open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0) {
        // not every file system supports O_TMPFILE, and their errors differ
        char *name OD_CLEANUP(base_free) = base_printf("%s/oncedrop.XXXXXX", directory);

        fd = mkostemp(name, O_CLOEXEC);
        if (fd >= 0 && unlink(name) < 0)
            base_close(&fd);
    }
    return fd;
}

static bool write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static bool move_to_file(struct message_store *store, struct fault *fault)
{
    // beyond a file size limit the write should fail with a reason; the signal would kill the process without one
    signal(SIGXFSZ, SIG_IGN);
    store->fd = temporary_file();
    if (store->fd < 0)
        return fault_file(fault, "make a", errno);
    if (!write_all(store->fd, store->memory, store->size))
        return fault_file(fault, "write the", errno);
    base_free(&store->memory);
    return true;
}

static void make_room(struct message_store *store, size_t size)
{
    if (size <= store->allocated)
        return;
    if (store->allocated == 0)
        store->allocated = 16384;
    while (store->allocated < size)
        store->allocated *= 2;
    store->memory = base_realloc(store->memory, store->allocated);
}

bool message_store_append(struct message_store *store, const unsigned char *bytes, size_t size, struct fault *fault)
{
    if (size == 0)
        return true;
    if (store->fd < 0 && store->size + size <= MEMORY_MAX) {
        make_room(store, store->size + size);
        memcpy(store->memory + store->size, bytes, size);
    } else {
        if (store->fd < 0 && !move_to_file(store, fault))
            return false;
        if (!write_all(store->fd, bytes, size))
            return fault_file(fault, "write the", errno);
    }
    store->size += size;
    return true;
}

bool message_store_finish(struct message_store *store, const unsigned char **ret, size_t *ret_size, struct fault *fault)
{
    if (store->fd >= 0) {
        void *map = mmap(NULL, store->size, PROT_READ, MAP_PRIVATE, store->fd, 0);

        if (map == MAP_FAILED)
            return fault_file(fault, "map the", errno);
        store->map = map;
        base_close(&store->fd);
    }
    *ret = store->map ? store->map : store->memory;
    *ret_size = store->size;
    return true;
}

void message_store_free(struct message_store **store)
{
    if (!*store)
        return;
    if ((*store)->map)
        munmap((*store)->map, (*store)->size);
    base_close(&(*store)->fd);
    base_free(&(*store)->memory);
    base_free(store);
}
