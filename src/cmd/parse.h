/* SPDX-License-Identifier: ISC
 *
 * Parses a command's arguments. */
#ifndef ONCEDROP_PARSE_H
#define ONCEDROP_PARSE_H

#include "cmd/cmd.h"

/* Parses the arguments, with `min` to `max` operands, into cmd->options and cmd->operands.
 *
 * synopsis  of the manual page: "[--state STATE] [--verify | --force] PATH..."
 * what      the operands, as in "the id of a message"
 *
 * Returns false, with a report, if an argument is wrong. */
bool options_parse(struct cmd *cmd, const char *synopsis, int min, int max, const char *what) OD_MUST;

void options_clear(struct options *options);

#endif
