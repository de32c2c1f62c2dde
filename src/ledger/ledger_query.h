/* SPDX-License-Identifier: ISC
 *
 * Queries for commands: the results are tables of text. */
#ifndef ONCEDROP_LEDGER_QUERY_H
#define ONCEDROP_LEDGER_QUERY_H

#include <glib.h>

#include "ledger/ledger.h"
#include "sql/sql.h"

struct ledger_table {
    size_t columns, rows;
    char **names;         /* [columns] */
    enum sql_type *types; /* [columns] */
    GPtrArray *cells;     /* [rows * columns], row by row, or NULL */
};

/* Runs a step that only reads, outside of any transaction. */
struct ledger_table *ledger_query(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                                  struct error *error) OD_MUST;

/* Returns a new table; rows NULL: an empty one. */
struct ledger_table *ledger_table_of(const struct sql_rows *rows) OD_MUST;

/* Returns a new table of text without rows. ledger_table_add adds a cell, row by row. */
struct ledger_table *ledger_table_new(const char *const *names, size_t columns) OD_MUST;
void ledger_table_add(struct ledger_table *table, const char *text);

void ledger_table_remove(struct ledger_table *table, size_t row);

void ledger_table_free(struct ledger_table **table);

/* Returns "" for NULL. */
const char *ledger_cell(const struct ledger_table *table, size_t row, size_t column) OD_MUST;

/* Moves the rows of *more to *table (same columns, none, or NULL), and frees *more. */
void ledger_table_join(struct ledger_table **table, struct ledger_table **more);

/* Returns a new string, "PostgreSQL 15.4 ...". */
char *ledger_server_version(struct ledger *ledger, struct error *error) OD_MUST;

#endif
