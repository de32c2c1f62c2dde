/* SPDX-License-Identifier: ISC
 *
 * What is wrong with a command line, for people: one line on stderr, "oncedrop: COMMAND: ...". The usage line
 * (cmd_usage) comes behind it. argv is that of a command, whose name is argv[0]. */
#ifndef ONCEDROP_USAGE_H
#define ONCEDROP_USAGE_H

#include <getopt.h>

#include "base/base.h"

#define USAGE_WRONG '?'

/* The next option: its letter, or the val of its long form; -1: there are no more; USAGE_WRONG: it is unknown, ambiguous,
 * lacks its value or has one too many, which was said. letters and words as for getopt_long(3). */
int usage_option(int argc, char **argv, const char *letters, const struct option *words) OD_MUST;

/* Whether as many operands are left as there may be; else says what is missing or too many. what: "a message's id". */
bool usage_operands(int argc, char **argv, int least, int most, const char *what) OD_MUST;

/* Says that an option's value will not do, and what would. Always false. */
bool usage_value(char **argv, const char *option, const char *value, const char *allowed);

/* Anything else that is wrong. Always false. */
bool usage_wrong(char **argv, const char *format, ...) OD_PRINTF(2, 3);

/* Whether a command line was typed by somebody: a standard descriptor is a terminal, as none of a delivery agent's is. */
bool usage_is_typed(void) OD_MUST;

/* Whether the help of a command is asked for: --help among its arguments. A command that delivers must have it as its only
 * one, and nobody may be sending it a message: exit status 0 would say that the message was delivered. */
bool usage_asks_help(int argc, char **argv, bool delivers) OD_MUST;

#endif
