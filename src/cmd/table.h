/* SPDX-License-Identifier: ISC
 *
 * Tables as text and JSON. Text has local times. On a terminal it has delays in words and, unless NO_COLOR is set,
 * coloured states; lists truncate texts and addresses to its width, but never times, ids and numbers. Elsewhere text is
 * complete and plain. */
#ifndef ONCEDROP_TABLE_H
#define ONCEDROP_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "ledger/ledger_query.h"

/* Prints a table with headings and aligned columns, and control characters escaped; nothing without rows. Omits columns
 * without values, and the column `without` (or NULL). If the table is wider than the terminal, prints each row as
 * "name: value" pairs; nothing is truncated. */
void table_print(const struct ledger_table *table, const char *without);

/* Like table_print(), for many rows. Omits columns that do not fit the terminal, except queue_id, and names them at the
 * end. On a terminal, prints a column error or reason below its row. */
void table_print_list(const struct ledger_table *table);

/* Prints one row as "name: value" lines, without NULL values. Wraps lines wider than the terminal. */
void table_print_row(const struct ledger_table *table, size_t row);

/* Prints one such line. */
void table_print_line(const char *name, const char *value);

/* Prints a heading, after an empty line. */
void table_heading(const char *text);

/* Return the rows as objects; a cell without a value is null. */
json_t *table_json(const struct ledger_table *table) OD_MUST;
json_t *table_row_json(const struct ledger_table *table, size_t row) OD_MUST;

/* Prints and frees it, with a newline. */
void table_print_json(json_t *json);

#endif
