/* SPDX-License-Identifier: ISC
 *
 * Queries for people: the results are tables of text. */
#ifndef ONCEDROP_LEDGER_QUERY_H
#define ONCEDROP_LEDGER_QUERY_H

#include <glib.h>

#include "ledger/ledger.h"

enum ledger_type { LEDGER_TEXT, LEDGER_NUMBER, LEDGER_BOOLEAN, LEDGER_JSON };

/* A time as text: UTC, ISO 8601, whatever the session's TimeZone and DateStyle. */
#define LEDGER_TIME(expression) "to_char(" expression " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

struct ledger_table {
    size_t columns, rows;
    char **names;            /* [columns] */
    enum ledger_type *types; /* [columns] */
    GPtrArray *cells;        /* [rows * columns] strings, row by row; NULL: no value */
};

struct pg_param;
struct pg_result;

/* Runs one statement that only reads, outside of any transaction; NULL with the fault set on trouble. */
struct ledger_table *ledger_query(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                                  struct fault *fault) OD_MUST;

/* Converts a result to a new table; NULL gives one without rows and columns. */
struct ledger_table *ledger_table_of(const struct pg_result *result) OD_MUST;

void ledger_table_free(struct ledger_table **table);

/* The text of a cell; "" if it has no value. */
const char *ledger_cell(const struct ledger_table *table, size_t row, size_t column) OD_MUST;

/* Moves the rows of *more, which has the same columns, to the end of *table, and frees *more. *table may be NULL or
 * have no columns. */
void ledger_table_join(struct ledger_table **table, struct ledger_table **more);

/* The server's version, "15.4 ...", a new string; NULL with the fault set on trouble. */
char *ledger_server_version(struct ledger *ledger, struct fault *fault) OD_MUST;

#endif
