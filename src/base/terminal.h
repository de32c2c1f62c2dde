/* SPDX-License-Identifier: ISC
 *
 * Text on a terminal: its width, the columns that a text occupies, and line breaking. */
#ifndef ONCEDROP_TERMINAL_H
#define ONCEDROP_TERMINAL_H

#include <stdio.h>

#include "base/base.h"

/* Columns of the terminal; 0 if it is not one. */
int terminal_width(int fd) OD_MUST;

/* Whether to use colours: it is a terminal, and NO_COLOR is not set (no-color.org). */
bool terminal_coloured(int fd) OD_MUST;

/* Columns that a UTF-8 text occupies: none for combining characters and colours, two for wide characters. */
int terminal_columns(const char *text) OD_MUST;

/* How many bytes of the text fit into this many columns, in whole characters. */
size_t terminal_fit(const char *text, int columns) OD_MUST;

/* Prints a line; the newline is added. On a terminal that is too narrow, it is broken at blanks or between wide characters,
 * and continuation lines are indented. A word that is too long, such as an id, is not broken, so that it can be copied. */
void terminal_print(FILE *out, int indent, const char *format, ...) OD_PRINTF(3, 4);

/* Prints lines of prose and tables. On a terminal that is too narrow, prose is refilled, and the right column of a
 * table is continued below itself. */
void terminal_print_prose(FILE *out, const char *text);

#endif
