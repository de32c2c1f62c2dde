/* SPDX-License-Identifier: ISC
 *
 * Tables for people. */
#ifndef ONCEDROP_TABLE_H
#define ONCEDROP_TABLE_H

#include <stdio.h>

#include "ledger/ledger_query.h"

/* Prints a table with its headings, columns aligned, control characters escaped; nothing when it has no rows. */
void table_print(FILE *out, const struct ledger_table *table);

/* Prints one row as "name: value" lines, leaving out what is NULL. */
void table_print_row(FILE *out, const struct ledger_table *table, size_t row);

#endif
