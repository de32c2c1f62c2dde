/* SPDX-License-Identifier: ISC
 *
 * Queries for commands: the results are tables of text. */
#ifndef ONCEDROP_LEDGER_QUERY_H
#define ONCEDROP_LEDGER_QUERY_H

#include "ledger/ledger.h"
#include "sql/sql.h"

/* Runs a step that only reads, outside of any transaction. */
struct sql_rows *ledger_query(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                              struct error *error) OD_MUST;

/* Returns a table of text without rows, for sql_rows_add_text. */
struct sql_rows *ledger_table_new(const char *const *names, size_t columns) OD_MUST;

/* Returns a new string, "PostgreSQL 15.4 ...". */
char *ledger_server_version(struct ledger *ledger, struct error *error) OD_MUST;

#endif
