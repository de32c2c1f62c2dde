/* SPDX-License-Identifier: ISC
 *
 * The result of a step. */
#ifndef ONCEDROP_SQL_ROWS_H
#define ONCEDROP_SQL_ROWS_H

#include "base/base.h"

enum sql_type { SQL_TYPE_TEXT, SQL_TYPE_NUMBER, SQL_TYPE_TRUTH, SQL_TYPE_JSON };

/* The text of a value, or its bytes; data NULL: SQL NULL. A NUL follows. A truth is "t" or "f". */
struct sql_cell {
    const char *data;
    size_t size; /* bytes */
};

/* What an engine fills in. */
struct sql_rows {
    size_t count, columns;
    int64_t changed;        /* rows that were inserted, updated or deleted */
    const char **names;     /* [columns] */
    enum sql_type *types;   /* [columns] */
    struct sql_cell *cells; /* [count * columns], row by row */
    void *owner;            /* of names and data */
    void (*free_owner)(void *owner);
};

/* New, with room for the names, types and cells, which are zero. */
struct sql_rows *sql_rows_new(size_t count, size_t columns) OD_MUST;

void sql_rows_free(struct sql_rows **rows);

bool sql_is_none(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* "" for SQL NULL. */
const char *sql_text(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* Number and truth; SQL NULL gives 0 and false. */
int64_t sql_number(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;
bool sql_truth(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* A new string (free(3)); NULL for SQL NULL. */
char *sql_copy(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

#endif
