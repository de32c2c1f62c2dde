/* SPDX-License-Identifier: ISC
 *
 * Header fields in the bytes of a message. A line that is not a field is treated as content without a name; only the
 * first empty line ends a header. */
#ifndef ONCEDROP_MESSAGE_FIELD_H
#define ONCEDROP_MESSAGE_FIELD_H

#include "base/base.h"

struct message_field {
    const unsigned char *start; /* including name and continuation lines */
    size_t size;                /* to the beginning of the next field */
    size_t name_length;         /* from start, without blanks before the colon; 0: this is not a field */
    const char *value;          /* after the colon */
    size_t value_length;        /* without the last line end */
};

/* Size of a header: up to and including the first empty line; `size` if there is none. */
size_t message_field_header_size(const unsigned char *bytes, size_t size) OD_MUST;

/* Reads the field at *cursor and advances it; false at the empty line or at the end. */
bool message_field_next(const unsigned char **cursor, const unsigned char *end, struct message_field *ret) OD_MUST;

/* True if the field has that name. Case does not matter; a trailing * matches any rest. */
bool message_field_is(const struct message_field *field, const char *pattern) OD_MUST;

/* The same for a name alone. */
bool message_field_name_is(const void *name, size_t length, const char *pattern) OD_MUST;

/* Finds the first field of that name in a header; false if there is none. */
bool message_field_find(const unsigned char *header, size_t size, const char *name, struct message_field *ret) OD_MUST;

/* Unfolds a value without copying it: reads the piece at *cursor, up to a line end that is followed by a blank, and
 * advances over both; false at the end. The value is what the pieces are together. */
bool message_field_piece(const char **cursor, const char *end, const char **ret, size_t *ret_length) OD_MUST;

/* A new string (free(3)): the bytes without line ends that are followed by a blank. *ret_length does not count the
 * terminating NUL. */
char *message_field_unfold(const char *value, size_t length, size_t *ret_length) OD_MUST;

#endif
