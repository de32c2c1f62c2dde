/* SPDX-License-Identifier: ISC
 *
 * The memory of what was decoded. */
#include "decode/decoded.h"

const char *const decoded_roles[] = {"from", "sender", "reply-to", "to", "cc", "bcc", NULL};

struct decoded *decoded_new(void)
{
    struct decoded *decoded = base_alloc(sizeof(*decoded));

    decoded->references = base_alloc(sizeof(*decoded->references));
    return decoded;
}

/* Makes room for one more item. The array is doubled when it is full, which is at every power of two. */
static void *one_more(void *array, size_t count, size_t size)
{
    return (count & (count - 1)) == 0 ? base_realloc(array, (count > 0 ? 2 * count : 1) * size) : array;
}

struct decoded_address *decoded_add_address(struct decoded *decoded)
{
    struct decoded_address *address;

    decoded->addresses = one_more(decoded->addresses, decoded->address_count, sizeof(*address));
    address = &decoded->addresses[decoded->address_count++];
    *address = (struct decoded_address){.role = NULL};
    return address;
}

struct decoded_part *decoded_add_part(struct decoded *decoded)
{
    struct decoded_part *part;

    decoded->parts = one_more(decoded->parts, decoded->part_count, sizeof(*part));
    part = &decoded->parts[decoded->part_count++];
    *part = (struct decoded_part){.path = NULL};
    return part;
}

static void free_addresses(struct decoded *decoded)
{
    for (size_t i = 0; i < decoded->address_count; i++) {
        base_free(&decoded->addresses[i].group);
        base_free(&decoded->addresses[i].name);
        base_free(&decoded->addresses[i].address);
    }
    base_free(&decoded->addresses);
}

void decoded_part_clear(struct decoded_part *part)
{
    base_free(&part->path);
    base_free(&part->type);
    base_free(&part->charset);
    base_free(&part->disposition);
    base_free(&part->filename);
    base_free(&part->text);
}

static void free_parts(struct decoded *decoded)
{
    for (size_t i = 0; i < decoded->part_count; i++)
        decoded_part_clear(&decoded->parts[i]);
    base_free(&decoded->parts);
}

void decoded_free(struct decoded **decoded)
{
    if (*decoded == NULL)
        return;
    base_free(&(*decoded)->subject);
    base_free(&(*decoded)->from);
    base_free(&(*decoded)->in_reply_to);
    for (char **id = (*decoded)->references; *id != NULL; id++)
        base_free(id);
    base_free(&(*decoded)->references);
    free_addresses(*decoded);
    free_parts(*decoded);
    base_free(decoded);
}
