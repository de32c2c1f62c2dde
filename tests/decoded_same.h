/* SPDX-License-Identifier: ISC
 *
 * For unit tests and fuzz targets: whether two messages were decoded alike. */
#ifndef ONCEDROP_DECODED_SAME_H
#define ONCEDROP_DECODED_SAME_H

#include <glib.h>
#include <string.h>

#include "decode/decode.h"

static inline bool same_address(const struct decoded_address *one, const struct decoded_address *other)
{
    return strcmp(one->role, other->role) == 0 && one->position == other->position &&
           g_strcmp0(one->group, other->group) == 0 && g_strcmp0(one->name, other->name) == 0 &&
           strcmp(one->address, other->address) == 0;
}

static inline bool same_part(const struct decoded_part *one, const struct decoded_part *other)
{
    return strcmp(one->path, other->path) == 0 && strcmp(one->type, other->type) == 0 &&
           g_strcmp0(one->charset, other->charset) == 0 && g_strcmp0(one->disposition, other->disposition) == 0 &&
           g_strcmp0(one->filename, other->filename) == 0 && one->size == other->size &&
           memcmp(one->sha256, other->sha256, sizeof(one->sha256)) == 0 && g_strcmp0(one->text, other->text) == 0;
}

static inline bool same_references(const struct decoded *one, const struct decoded *other)
{
    size_t i = 0;
    while (one->references[i] != NULL && g_strcmp0(one->references[i], other->references[i]) == 0)
        i++;
    return one->references[i] == NULL && other->references[i] == NULL;
}

static inline bool same_decoded(const struct decoded *one, const struct decoded *other)
{
    bool same = g_strcmp0(one->subject, other->subject) == 0 && g_strcmp0(one->from, other->from) == 0 &&
                one->has_date == other->has_date && (!one->has_date || one->date == other->date) &&
                g_strcmp0(one->in_reply_to, other->in_reply_to) == 0 && same_references(one, other) &&
                one->address_count == other->address_count && one->part_count == other->part_count;
    for (size_t i = 0; same && i < one->address_count; i++)
        same = same_address(&one->addresses[i], &other->addresses[i]);
    for (size_t i = 0; same && i < one->part_count; i++)
        same = same_part(&one->parts[i], &other->parts[i]);
    return same;
}

#endif
