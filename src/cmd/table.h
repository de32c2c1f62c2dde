/* SPDX-License-Identifier: ISC
 *
 * Rows as text, with local times and control characters escaped, and as JSON. */
#ifndef ONCEDROP_TABLE_H
#define ONCEDROP_TABLE_H

#include <jansson.h>

#include "ledger/ledger_query.h"

/* Prints aligned columns with headings, a line for each row. Omits empty columns and `without` (or NULL); prints nothing
 * without rows. */
void table_print(const struct sql_rows *table, const char *without);

/* Prints a row as "name: value" lines, without NULL values and empty arrays. */
void table_print_row(const struct sql_rows *table, size_t row);

/* Return rows as objects; a cell without a value is null. */
json_t *table_json(const struct sql_rows *table) OD_MUST;
json_t *table_row_json(const struct sql_rows *table, size_t row) OD_MUST;

/* Prints a line, and frees json. */
void table_print_json(json_t *json);

#endif
