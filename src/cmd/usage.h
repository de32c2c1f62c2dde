/* SPDX-License-Identifier: ISC
 *
 * Reports errors in a command line, for people: one line on stderr, "oncedrop: COMMAND: ...", which the command answers
 * with CMD_USAGE. argv is that of a command, whose name is argv[0]. */
#ifndef ONCEDROP_USAGE_H
#define ONCEDROP_USAGE_H

#include <getopt.h>

#include "base/base.h"

#define USAGE_WRONG '?'

/* The next option: its letter, or the val of its long form; -1: there are no more; USAGE_WRONG: it is unknown,
 * ambiguous, lacks its value or has a superfluous one, which was reported. letters and words as for getopt_long(3). */
int usage_option(int argc, char **argv, const char *letters, const struct option *words) OD_MUST;

/* For commands whose only option is --json. optind becomes the index of the first operand. */
bool usage_json(int argc, char **argv, bool *ret) OD_MUST;

/* Whether the number of operands is in range; otherwise reports what is missing or superfluous. what: "the id of a
 * message". */
bool usage_operands(int argc, char **argv, int least, int most, const char *what) OD_MUST;

/* Reports that the value of an option is wrong, and what is allowed. Always false. */
bool usage_value(char **argv, const char *option, const char *value, const char *allowed);

/* Reports any other error. Always false. */
bool usage_wrong(char **argv, const char *format, ...) OD_PRINTF(2, 3);

/* Whether a person typed the command line: a standard descriptor is a terminal, which is never so for a delivery
 * agent. */
bool usage_is_typed(void) OD_MUST;

/* Whether the arguments ask for the help of a command with --help. For a command that delivers, it must be the only
 * argument, and there must be no message on standard input: exit status 0 would mean that the message was delivered. */
bool usage_asks_help(int argc, char **argv, bool delivers) OD_MUST;

#endif
