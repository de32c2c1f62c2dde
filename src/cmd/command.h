/* SPDX-License-Identifier: ISC
 *
 * The table of commands. */
#ifndef ONCEDROP_COMMAND_H
#define ONCEDROP_COMMAND_H

#include "cmd/cmd.h"

struct command {
    const char *name;
    int (*run)(struct cmd *cmd);
    bool delivers;     /* run by Postfix: every failure defers the mail, even a usage error; parses its own arguments */
    bool opens_ledger; /* for run() */
    int min, max;      /* operands */
    const char *what;  /* they are, if min > 0 */
    /* From its manual page, by pages.awk: */
    const char *arguments; /* a line for each form of the command line */
    const char *summary;   /* one line */
    const char *help;      /* the rest of `help COMMAND` */
};

/* Returns NULL for an unknown name. */
const struct command *command_find(const char *name) OD_MUST;

/* Returns the name most similar to a mistyped one, or NULL. */
const char *command_suggest(const char *name) OD_MUST;

void command_print_help(const struct command *command);

/* Parses the arguments unless the command delivers, and runs it. Returns the exit status. After a wrong command line,
 * prints the usage. */
int command_run(const struct command *command, struct cmd *cmd) OD_MUST;

#endif
