/* SPDX-License-Identifier: ISC
 *
 * Text for people on a terminal: its width, how much of it a text takes, and lines that are broken before its edge. */
#ifndef ONCEDROP_TERMINAL_H
#define ONCEDROP_TERMINAL_H

#include <stdio.h>

#include "base/base.h"

/* Columns of the terminal; 0: this is none. */
int terminal_width(int fd) OD_MUST;

/* Whether colours are wanted there: a terminal, and NO_COLOR is not set (no-color.org). */
bool terminal_coloured(int fd) OD_MUST;

/* Columns that a UTF-8 text takes: combining characters and colours none, wide ones two. */
int terminal_columns(const char *text) OD_MUST;

/* Bytes of the text that fit so many columns, in whole characters. */
size_t terminal_fit(const char *text, int columns) OD_MUST;

/* Prints the text and a line end. What is wider than the terminal is broken at blanks, or between wide characters, and goes
 * on after so many blanks. A longer word, such as an id, is not broken: it can be copied. Elsewhere nothing is changed. */
void terminal_print(FILE *out, int indent, const char *text);

/* Prints lines of prose and of tables: on a terminal too narrow for it, what is no table is filled anew, and a table's
 * right column goes on below itself. */
void terminal_print_prose(FILE *out, const char *text);

#endif
