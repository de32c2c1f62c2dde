/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_SQL_ROWS_H
#define ONCEDROP_SQL_ROWS_H

#include "base/base.h"

enum sql_type { SQL_TYPE_TEXT, SQL_TYPE_NUMBER, SQL_TYPE_BOOL, SQL_TYPE_JSON };

/* A value as text, or bytes, then a NUL; data NULL: SQL NULL. Booleans: "t", "f". */
struct sql_cell {
    const char *data;
    size_t size; /* bytes */
};

/* Filled in by the engine. */
struct sql_rows {
    size_t count, columns;
    int64_t changed;        /* rows inserted, updated or deleted */
    const char **names;     /* [columns] */
    enum sql_type *types;   /* [columns] */
    struct sql_cell *cells; /* [count * columns], by row */
    void *owner;            /* of names and data */
    void (*free_owner)(void *owner);
};

/* Returns rows whose names, types and cells are zero. */
struct sql_rows *sql_rows_new(size_t count, size_t columns) OD_MUST;

void sql_rows_free(struct sql_rows **rows);

bool sql_is_null(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* "" for SQL NULL. */
const char *sql_text(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* 0 and false for SQL NULL. */
int64_t sql_number(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;
bool sql_bool(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

/* A new string (free(3)); NULL for SQL NULL. */
char *sql_copy(const struct sql_rows *rows, size_t row, size_t column) OD_MUST;

#endif
