/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "decode/decode_internal.h"

char *decode_field(struct decode_span header, const char *name, size_t max)
{
    size_t size = MIN(decode_span_size(header), DECODE_HEADER_MAX);
    struct message_field field;

    if (!message_field_find(header.start, size, name, &field))
        return NULL;
    return g_strstrip(message_field_unfold(field.value, MIN(field.value_length, max), &size));
}

static char *next_id(const char **at)
{
    const char *open = NULL;

    for (const char *c = *at; *c; c++) {
        if (*c == '<') {
            open = c + 1;
        } else if (*c == '>' && open != NULL && c > open) {
            *at = c + 1;
            return decode_sanitize(open, (size_t)(c - open));
        } else if (*c == '>') {
            open = NULL;
        }
    }
    return NULL;
}

static void read_ids(struct decode_span header, const char *name, char **ids, size_t max)
{
    char *value OD_CLEANUP(base_free) = decode_field(header, name, DECODE_HEADER_MAX);
    const char *at = value;

    for (size_t n = 0; value != NULL && n < max && (ids[n] = next_id(&at)) != NULL; n++)
        ;
}

void decode_ids(struct decoded *decoded, struct decode_span header)
{
    char *date OD_CLEANUP(base_free) = decode_field(header, "Date", 256);

    decoded->has_date = date != NULL && decode_date(date, &decoded->date);
    read_ids(header, "In-Reply-To", &decoded->in_reply_to, 1);
    read_ids(header, "References", decoded->references, DECODE_REFERENCES_MAX);
}
