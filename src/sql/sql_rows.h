/* SPDX-License-Identifier: ISC
 *
 * Rows that a statement returned, or that were put together here: it owns all it has. */
#ifndef ONCEDROP_SQL_ROWS_H
#define ONCEDROP_SQL_ROWS_H

#include <glib.h>

#include "base/base.h"

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
