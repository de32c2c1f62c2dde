/* SPDX-License-Identifier: ISC
 *
 * Tables for people, and the same as JSON for programs. On a terminal, texts and addresses in lists are cut to fit its
 * width, but never times, ids and numbers; times are local; states are coloured unless NO_COLOR is set, and delays are in words. Elsewhere
 * everything is printed in full, without colours. */
#ifndef ONCEDROP_TABLE_H
#define ONCEDROP_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "ledger/ledger_query.h"

/* Prints a table with headings and aligned columns; control characters are escaped, columns without any value left out, and
 * so is the column `without`, if that is not NULL. Prints nothing if there are no rows. Nothing is cut: if the table does
 * not fit the terminal, prints each row as "name: value" pairs, several on a line. */
void table_print(const struct ledger_table *table, const char *without);

/* The same for many rows: a column that does not fit the terminal beside those before it is left out and named at the
 * end; there the text of a column error or reason is printed below its row. A queue id is never left out. */
void table_print_list(const struct ledger_table *table);

/* Prints one row as "name: value" lines, except NULL values. Nothing is cut: a line wider than the terminal is
 * continued on the next one. */
void table_print_row(const struct ledger_table *table, size_t row);

/* Prints one such line. */
void table_print_line(const char *name, const char *value);

/* Prints a heading, after an empty line. */
void table_heading(const char *text);

/* The rows as objects with the columns' names; a cell without a value is null. */
json_t *table_json(const struct ledger_table *table) OD_MUST;
json_t *table_row_json(const struct ledger_table *table, size_t row) OD_MUST;

/* Prints and frees it, with a line end. */
void table_print_json(json_t *json);

#endif
