/* SPDX-License-Identifier: ISC */
#include "message/message_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MEMORY_MAX ((size_t)1 << 20)

struct message_store {
    unsigned char *memory; /* NULL once the file is used */
    size_t allocated;
    int fd;
    void *map;
    size_t size;
};

struct message_store *message_store_new(void)
{
    struct message_store *store = base_alloc(sizeof(*store));

    store->fd = -1;
    return store;
}

static bool move_to_file(struct message_store *store, struct error *error)
{
    store->fd = tempfile_open();
    if (store->fd < 0)
        return tempfile_error(error, "make a", errno);
    if (!base_write(store->fd, store->memory, store->size))
        return tempfile_error(error, "write the", errno);
    base_free(&store->memory);
    return true;
}

static void grow_memory(struct message_store *store, size_t size)
{
    if (size <= store->allocated)
        return;
    if (store->allocated == 0)
        store->allocated = 16384;
    while (store->allocated < size)
        store->allocated *= 2;
    store->memory = base_realloc(store->memory, store->allocated);
}

bool message_store_append(struct message_store *store, const unsigned char *bytes, size_t size, struct error *error)
{
    if (size == 0)
        return true;
    if (store->fd < 0 && store->size + size <= MEMORY_MAX) {
        grow_memory(store, store->size + size);
        memcpy(store->memory + store->size, bytes, size);
    } else {
        if (store->fd < 0 && !move_to_file(store, error))
            return false;
        if (!base_write(store->fd, bytes, size))
            return tempfile_error(error, "write the", errno);
    }
    store->size += size;
    return true;
}

const unsigned char *message_store_finish(struct message_store *store, struct error *error)
{
    if (store->fd < 0)
        return store->memory;
    void *map = mmap(NULL, store->size, PROT_READ, MAP_PRIVATE, store->fd, 0);
    if (map == MAP_FAILED) {
        tempfile_error(error, "map the", errno);
        return NULL;
    }
    store->map = map;
    base_close(&store->fd);
    return map;
}

void message_store_free(struct message_store **store)
{
    if (*store == NULL)
        return;
    if ((*store)->map != NULL)
        munmap((*store)->map, (*store)->size);
    base_close(&(*store)->fd);
    base_free(&(*store)->memory);
    base_free(store);
}
