/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_TERMINAL_H
#define ONCEDROP_TERMINAL_H

#include <stdio.h>

#include "base/base.h"

/* Returns 0 if it is not a terminal. */
int terminal_width(int fd) OD_MUST;

/* Returns true for a terminal, unless NO_COLOR is set (no-color.org). */
bool terminal_coloured(int fd) OD_MUST;

/* Returns the columns of UTF-8: 0 for combining characters and colours, 2 for wide ones. */
int terminal_columns(const char *text) OD_MUST;

/* Returns how many bytes, in complete characters, fit. */
size_t terminal_truncate(const char *text, int columns) OD_MUST;

/* Prints a line. On a narrow terminal, breaks it at blanks or between wide characters, and indents the rest. Does
 * not break long words, so that they can be copied. */
void terminal_print(FILE *out, int indent, const char *format, ...) OD_PRINTF(3, 4);

/* Prints prose and tables. On a narrow terminal, refills prose and right columns. */
void terminal_print_prose(FILE *out, const char *text);

#endif
