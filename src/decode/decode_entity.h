/* SPDX-License-Identifier: ISC
 *
 * The header of a part or of the message, as needed by decode_part.c. */
#ifndef ONCEDROP_DECODE_ENTITY_H
#define ONCEDROP_DECODE_ENTITY_H

#include "decode/decode_internal.h"

#define DECODE_PARAMETERS_MAX ((size_t)1 << 20) /* total of fields passed to gmime; then only short ones */

struct decode_fields {
    GMimeParserOptions *options;
    size_t parameters_left;
};

struct decode_span {
    const unsigned char *start, *end;
};

static inline size_t decode_span_size(struct decode_span span)
{
    return (size_t)(span.end - span.start);
}

struct decode_entity {
    struct decode_span body;
    char *type; /* lower case */
    char *charset;
    char *boundary; /* of a multipart type that has one; else NULL */
    char *disposition;
    char *filename;
    GMimeContentEncoding encoding;
};

/* Reads the header at the beginning of the span. Missing values are NULL, except that the type is always set. */
void decode_entity_read(struct decode_fields *fields, struct decode_span span, const char *default_type,
                        struct decode_entity *entity);

void decode_entity_clear(struct decode_entity *entity);

#endif
