/* SPDX-License-Identifier: ISC
 *
 * Questions of people to the ledger: their answers are tables of text. */
#ifndef ONCEDROP_LEDGER_QUERY_H
#define ONCEDROP_LEDGER_QUERY_H

#include "ledger/ledger.h"

enum ledger_type { LEDGER_TEXT, LEDGER_NUMBER, LEDGER_BOOLEAN, LEDGER_JSON };

struct ledger_table {
    size_t columns, rows;
    char **names;            /* [columns] */
    enum ledger_type *types; /* [columns] */
    char **cells;            /* [rows * columns], row after row; NULL: no value */
};

void ledger_table_free(struct ledger_table **table);

/* The cell, "" for one without a value. */
const char *ledger_cell(const struct ledger_table *table, size_t row, size_t column) OD_MUST;

/* Adds the rows of *more, which has the same columns, to those of *table, and frees *more; *table may be NULL, or without
 * columns. */
void ledger_table_join(struct ledger_table **table, struct ledger_table **more);

/* Version of the server, "15.4 ...", a new string, and how many connections it takes; NULL with the fault set. */
char *ledger_server_version(struct ledger *ledger, int64_t *ret_max_connections, struct fault *fault) OD_MUST;

#endif
