/* SPDX-License-Identifier: ISC */
#include "decode/decoded.h"

#include <string.h>

const char *const decoded_roles[DECODED_ROLES + 1] = {"from", "sender", "reply-to", "to", "cc", "bcc", NULL};

struct decoded *decoded_new(void)
{
    struct decoded *decoded = base_alloc(sizeof(*decoded));

    decoded->references = base_alloc((DECODE_REFERENCES_MAX + 1) * sizeof(*decoded->references));
    return decoded;
}

/* Makes room for a zeroed item. A full array (a power of two) is doubled. */
static void *one_more(void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) == 0)
        array = base_realloc(array, (count > 0 ? 2 * count : 1) * size);
    memset((char *)array + count * size, 0, size);
    return array;
}

struct decoded_address *decoded_add_address(struct decoded *decoded)
{
    decoded->addresses = one_more(decoded->addresses, decoded->address_count, sizeof(*decoded->addresses));
    return &decoded->addresses[decoded->address_count++];
}

struct decoded_part *decoded_add_part(struct decoded *decoded)
{
    decoded->parts = one_more(decoded->parts, decoded->part_count, sizeof(*decoded->parts));
    return &decoded->parts[decoded->part_count++];
}

void decoded_address_clear(struct decoded_address *address)
{
    base_free(&address->group);
    base_free(&address->name);
    base_free(&address->address);
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

void decoded_free(struct decoded **decoded)
{
    struct decoded *it = *decoded;

    if (it == NULL)
        return;
    base_free(&it->subject);
    base_free(&it->from);
    base_free(&it->in_reply_to);
    for (char **id = it->references; *id != NULL; id++)
        base_free(id);
    base_free(&it->references);
    for (size_t i = 0; i < it->address_count; i++)
        decoded_address_clear(&it->addresses[i]);
    base_free(&it->addresses);
    for (size_t i = 0; i < it->part_count; i++)
        decoded_part_clear(&it->parts[i]);
    base_free(&it->parts);
    base_free(decoded);
}
