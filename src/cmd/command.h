/* SPDX-License-Identifier: ISC
 *
 * The commands' names and help texts. */
#ifndef ONCEDROP_COMMAND_H
#define ONCEDROP_COMMAND_H

#include "cmd/cmd.h"

struct command {
    const char *name;
    int (*run)(struct cmd *cmd);
    bool delivers;         /* run by Postfix: every failure defers the mail, even a usage error */
    const char *arguments; /* for the usage line */
    const char *summary;   /* one line */
    const char *help;      /* rest of `help COMMAND` */
};

/* Returns NULL if there is no such command. */
const struct command *command_find(const char *name) OD_MUST;

/* Returns the command name most similar to a mistyped one, or NULL. */
const char *command_nearest(const char *name) OD_MUST;

void command_print_help(const struct command *command);

/* Prints the usage line of a command that returned CMD_USAGE on stderr. Returns EX_USAGE. */
int command_usage(const struct command *command);

#endif
