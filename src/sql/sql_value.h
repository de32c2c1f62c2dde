/* SPDX-License-Identifier: ISC
 *
 * A step's parameters and its rows. */
#ifndef ONCEDROP_SQL_VALUE_H
#define ONCEDROP_SQL_VALUE_H

#include <glib.h>

#include "base/base.h"

/* sql_value.c */

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

/* For engines: a list as JSON, or as an array of PostgreSQL, a new string (free(3)). */
char *sql_value_list(const struct sql_value *list, bool json) OD_MUST;

/* A step's text as steps.awk writes it. SQL_TEXT_VALUE and two digits stand for a value. A line that begins with
 * SQL_TEXT_IF and two digits is dropped if that value is NULL. */

#define SQL_TEXT_VALUE '\1'
#define SQL_TEXT_IF '\2'
#define SQL_VALUES_MAX 24

/* Returns the index of the value that these two digits stand for. */
static inline size_t sql_text_index(const char *digits)
{
    return (size_t)((digits[0] - '0') * 10 + (digits[1] - '0'));
}

/* Returns the statement as a new string, with $1, $2, ... for the values used. ret[SQL_VALUES_MAX], *ret_count: these
 * values, each once. */
char *sql_text_render(const char *text, const struct sql_value *values, struct sql_value ret[SQL_VALUES_MAX],
                      size_t *ret_count) OD_MUST;

/* Rows that a statement returned, or that were put together here: it owns all it has. */

enum sql_type { SQL_TYPE_TEXT, SQL_TYPE_NUMBER, SQL_TYPE_BOOL, SQL_TYPE_JSON };

/* A value as text, or bytes, then a NUL; data NULL: SQL NULL. Booleans: "t", "f". */
struct sql_cell {
    const char *data;
    size_t size; /* bytes */
};

struct sql_rows {
    size_t count, columns;
    int64_t changed;        /* rows inserted, updated or deleted */
    const char **names;     /* [columns] */
    enum sql_type *types;   /* [columns] */
    struct sql_cell *cells; /* [count * columns], by row */
    size_t added, room;     /* number of cells */
    GStringChunk *texts;    /* names and data; NULL: none yet */
};

/* Returns columns without a name, of type text, and no row. */
struct sql_rows *sql_rows_new(size_t columns) OD_MUST;

void sql_rows_free(struct sql_rows **rows);

/* For g_queue_clear_full. */
void sql_rows_drop(gpointer rows);

void sql_rows_name(struct sql_rows *rows, size_t column, const char *name, enum sql_type type);

/* Appends a copy of a cell; cells are added row by row. NULL: SQL NULL. */
void sql_rows_add(struct sql_rows *rows, const void *data, size_t size);
void sql_rows_add_text(struct sql_rows *rows, const char *text);

void sql_rows_remove(struct sql_rows *rows, size_t row);

/* Moves the rows of *more to *rows (same columns, none, or NULL), and frees *more. */
void sql_rows_join(struct sql_rows **rows, struct sql_rows **more);

bool sql_is_null(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* "" for SQL NULL. */
const char *sql_text(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* 0 and false for SQL NULL. */
int64_t sql_number(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;
bool sql_bool(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* A new string (free(3)); NULL for SQL NULL. */
char *sql_copy(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

#endif
