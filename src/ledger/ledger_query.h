/* SPDX-License-Identifier: ISC
 *
 * Queries for people: the results are tables of text. */
#ifndef ONCEDROP_LEDGER_QUERY_H
#define ONCEDROP_LEDGER_QUERY_H

#include <glib.h>

#include "ledger/ledger.h"
#include "sql/sql.h"

struct ledger_table {
    size_t columns, rows;
    char **names;         /* [columns] */
    enum sql_type *types; /* [columns] */
    GPtrArray *cells;     /* [rows * columns] strings, row by row; NULL: no value */
};

/* Runs one step that only reads, outside of any transaction; NULL with the fault set on trouble. */
struct ledger_table *ledger_query(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                                  struct fault *fault) OD_MUST;

/* Converts a result to a new table; NULL gives one without rows and columns. */
struct ledger_table *ledger_table_of(const struct sql_rows *rows) OD_MUST;

/* A new table of text without rows, and its next cell, row by row; NULL: no value. */
struct ledger_table *ledger_table_new(const char *const *names, size_t columns) OD_MUST;
void ledger_table_add(struct ledger_table *table, const char *text);

/* Removes a row. */
void ledger_table_remove(struct ledger_table *table, size_t row);

void ledger_table_free(struct ledger_table **table);

/* The text of a cell; "" if it has no value. */
const char *ledger_cell(const struct ledger_table *table, size_t row, size_t column) OD_MUST;

/* Moves the rows of *more, which has the same columns, to the end of *table, and frees *more. *table may be NULL or
 * have no columns. */
void ledger_table_join(struct ledger_table **table, struct ledger_table **more);

/* The server's name and version, "PostgreSQL 15.4 ...", a new string; NULL with the fault set on trouble. */
char *ledger_server_version(struct ledger *ledger, struct fault *fault) OD_MUST;

#endif
