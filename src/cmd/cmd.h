/* SPDX-License-Identifier: ISC
 *
 * The commands: arguments in, exit status out. Those for people use ordinary exit statuses and print errors on stderr. */
#ifndef ONCEDROP_CMD_H
#define ONCEDROP_CMD_H

#include <glib.h>

#include "base/config.h"
#include "ledger/ledger.h"

/* The options before the name of the command. */
struct cmd_options {
    const char *config_file;
    const char *const *overrides; /* NULL-terminated */
    bool verbose;
};

#define CMD_USAGE (-1) /* instead of an exit status: the command line is wrong, as was reported */

int cmd_deliver(const struct cmd_options *options, int argc, char **argv);
int cmd_lmtp(const struct cmd_options *options, int argc, char **argv);
int cmd_serve(const struct cmd_options *options, int argc, char **argv);
int cmd_schema(const struct cmd_options *options, int argc, char **argv);
int cmd_check(const struct cmd_options *options, int argc, char **argv);
int cmd_route(const struct cmd_options *options, int argc, char **argv);
int cmd_replay(const struct cmd_options *options, int argc, char **argv);
int cmd_resume(const struct cmd_options *options, int argc, char **argv);
int cmd_show(const struct cmd_options *options, int argc, char **argv);
int cmd_list(const struct cmd_options *options, int argc, char **argv);
int cmd_stats(const struct cmd_options *options, int argc, char **argv);
int cmd_abandon(const struct cmd_options *options, int argc, char **argv);
int cmd_purge(const struct cmd_options *options, int argc, char **argv);
int cmd_locks(const struct cmd_options *options, int argc, char **argv);

/* The environment variables that a delivery keeps (privilege_clear_environment): those set by Postfix, and some that
 * cannot be turned against us. TMPDIR is where a large message is kept. */
extern const char *const cmd_environment[];

/* For commands that people use: prints "oncedrop: text" on stderr. Returns status. */
int cmd_fail(int status, const char *format, ...) OD_PRINTF(2, 3);

/* The same for an error in the arguments: "oncedrop: COMMAND: text", which the command answers with CMD_USAGE. argv is that of
 * the command. Always false. */
bool cmd_wrong(char **argv, const char *format, ...) OD_PRINTF(2, 3);

/* The same for the value of an option: says what is allowed. */
bool cmd_wrong_value(char **argv, const char *option, const char *value, const char *allowed);

/* An option of a command. One of the pointers is where it goes; its last value counts, or all if they are added to a list. */
struct cmd_option {
    const char *name; /* --name; a letter alone: -n */
    bool *flag;
    const char **text;
    GPtrArray *list;
};

/* Reads options, which end with one without a name, and may be NULL; then optind is the index of the first operand.
 * least, most  number of operands, and what they are: "the id of a message"
 * False: an option or an operand is wrong, as was reported. */
bool cmd_parse(int argc, char **argv, const struct cmd_option *options, int least, int most, const char *what) OD_MUST;

/* The value of -j, a number of workers; NULL: 1. False: it is wrong, as was reported. */
bool cmd_parse_jobs(char **argv, const char *text, size_t *ret) OD_MUST;

/* An id that may be enclosed in <>, without them; a new string. */
char *cmd_strip_brackets(const char *id) OD_MUST;

/* Whether the arguments ask for the help of a command with --help. For a command that delivers, it must be the only
 * argument, and there must be no message on standard input: exit status 0 would mean that the message was delivered. */
bool cmd_asks_help(int argc, char **argv, bool delivers) OD_MUST;

/* Loads and checks the configuration and opens the log; NULL with the fault set. log_fd: as stderr_fd of log_open. */
struct config *cmd_config_load(const struct cmd_options *options, int log_fd, struct fault *fault) OD_MUST;

/* For commands that people use: loads the configuration and, unless `ledger` is NULL, connects to the database. Returns
 * 0; on failure prints the reason on stderr and returns EX_CONFIG or EX_UNAVAILABLE. */
int cmd_open(const struct cmd_options *options, struct config **config, struct ledger **ledger) OD_MUST;

/* For commands that do what a delivery does: root becomes service.user for good, unless conninfo names another database
 * user. reads_all: keep root's right to read any file. Returns 0; on failure prints the reason on stderr and returns
 * the exit status. */
int cmd_become_service(const struct config *config, bool reads_all) OD_MUST;

#endif
