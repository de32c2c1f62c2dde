/* SPDX-License-Identifier: ISC
 *
 * A step's parameters. */
#ifndef ONCEDROP_SQL_VALUE_H
#define ONCEDROP_SQL_VALUE_H

#include "base/base.h"

#define SQL_TEXT_MAX 16384 /* default limit of a text, in bytes */

enum sql_kind {
    SQL_KIND_FORGOTTEN, /* not set by the caller: sql_add() aborts */
    SQL_KIND_NONE,      /* SQL NULL */
    SQL_KIND_TEXT,
    SQL_KIND_NUMBER,
    SQL_KIND_BOOL,
    SQL_KIND_BYTES,
    SQL_KIND_TEXTS, /* items may be NULL, for SQL NULL */
    SQL_KIND_NUMBERS,
};

/* A text may be untrusted: it is sent as valid UTF-8, with U+FFFD for invalid bytes, truncated between characters. So
 * check the validity and length of text that identifies a row before (route/), or two rows could become one. Pointers
 * must last until sql_add() returns. */
struct sql_value {
    enum sql_kind kind;
    size_t size; /* text: limit in bytes; bytes: number; list: items */
    union {
        const char *text;
        int64_t number;
        bool boolean;
        const void *bytes;
        const char *const *texts;
        const int64_t *numbers;
    };
};

/* NULL: SQL NULL. */
static inline struct sql_value sql_text_max(const char *text, size_t max)
{
    return (struct sql_value){.kind = text != NULL ? SQL_KIND_TEXT : SQL_KIND_NONE, .size = max, .text = text};
}

#define SQL_TEXT(text_) sql_text_max((text_), SQL_TEXT_MAX)
#define SQL_TEXT_CUT(text_, max_) sql_text_max((text_), (max_))
#define SQL_NUMBER(number_) ((struct sql_value){.kind = SQL_KIND_NUMBER, .number = (number_)})
#define SQL_NUMBER_OR_NULL(there_, number_) \
    ((struct sql_value){.kind = (there_) ? SQL_KIND_NUMBER : SQL_KIND_NONE, .number = (number_)})
#define SQL_BOOL(bool_) ((struct sql_value){.kind = SQL_KIND_BOOL, .boolean = (bool_)})
#define SQL_TRUE_IF(there_) ((struct sql_value){.kind = (there_) ? SQL_KIND_BOOL : SQL_KIND_NONE, .boolean = true})
#define SQL_BYTES(bytes_, size_) \
    ((struct sql_value){.kind = (bytes_) != NULL ? SQL_KIND_BYTES : SQL_KIND_NONE, .size = (size_), .bytes = (bytes_)})
#define SQL_TEXTS(items_, count_) ((struct sql_value){.kind = SQL_KIND_TEXTS, .size = (count_), .texts = (items_)})
#define SQL_NUMBERS(items_, count_) \
    ((struct sql_value){.kind = SQL_KIND_NUMBERS, .size = (count_), .numbers = (items_)})
#define SQL_NULL ((struct sql_value){.kind = SQL_KIND_NONE})

/* For engines: the text as sent, a new string (free(3)); NULL: unchanged. */
char *sql_value_truncate(const char *text, size_t max) OD_MUST;

/* For engines: a list as JSON, a new string (free(3)). */
char *sql_value_json(const struct sql_value *list) OD_MUST;

#endif
