/* SPDX-License-Identifier: ISC
 *
 * Tables as text, with local times, and JSON. On a terminal, delays are in words, states are coloured unless NO_COLOR
 * is set, and lists are truncated. */
#ifndef ONCEDROP_TABLE_H
#define ONCEDROP_TABLE_H

#include <jansson.h>

#include "ledger/ledger_query.h"

/* Prints a table with headings, without empty columns and `without` (or NULL); nothing without rows. Escapes control
 * characters. If the table does not fit the terminal, prints rows as "name: value" pairs. */
void table_print(const struct sql_rows *table, const char *without);

/* Like table_print(), but omits columns that do not fit, except queue_id, and names them at the end. On a terminal,
 * prints errors and reasons below their rows. */
void table_print_list(const struct sql_rows *table);

/* Prints a row as "name: value" lines, without NULL values. Wraps long lines. */
void table_print_row(const struct sql_rows *table, size_t row);

/* Prints one such line. */
void table_print_line(const char *name, const char *value);

/* Prints a heading after an empty line. */
void table_heading(const char *text);

/* Return rows as objects; a cell without a value is null. */
json_t *table_json(const struct sql_rows *table) OD_MUST;
json_t *table_row_json(const struct sql_rows *table, size_t row) OD_MUST;

/* Prints a line, and frees json. */
void table_print_json(json_t *json);

#endif
