/* SPDX-License-Identifier: ISC
 *
 * The value of a field of a header. */
#include "decode/decode_internal.h"

char *decode_field(const struct decode_header *header, const char *name, size_t max)
{
    struct message_field field;
    char *value;
    size_t length;

    if (!message_field_find(header->bytes, header->size, name, &field))
        return NULL;
    value = message_field_unfold(field.value, field.value_length < max ? field.value_length : max, &length);
    return g_strstrip(value);
}
