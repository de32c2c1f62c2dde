/* SPDX-License-Identifier: ISC
 *
 * The commands: arguments in, exit status out. Those for people use ordinary exit statuses and print errors on stderr. */
#ifndef ONCEDROP_CMD_H
#define ONCEDROP_CMD_H

#include "base/config.h"
#include "ledger/ledger.h"

/* The options before the name of the command. */
struct cmd_options {
    const char *config_file;
    const char *const *overrides; /* NULL-terminated */
    bool verbose;
};

struct cmd {
    const char *name;
    int (*run)(const struct cmd_options *options, int argc, char **argv); /* argv[0] is the command's name */
    bool delivers;         /* run by Postfix: every failure defers the mail, even a usage error */
    const char *arguments; /* for the usage line */
    const char *summary;   /* one line */
    const char *help;      /* the rest of `help COMMAND` */
};

/* All commands; ends with a NULL name. */
extern const struct cmd cmd_table[];

const struct cmd *cmd_find(const char *name) OD_MUST;

/* The name of the command nearest to a mistyped one, or NULL. */
const char *cmd_nearest(const char *name) OD_MUST;

/* Prints the text of `help COMMAND`. */
void cmd_print_help(const struct cmd *cmd);

int cmd_deliver(const struct cmd_options *options, int argc, char **argv);
int cmd_lmtp(const struct cmd_options *options, int argc, char **argv);
int cmd_serve(const struct cmd_options *options, int argc, char **argv);
int cmd_schema(const struct cmd_options *options, int argc, char **argv);
int cmd_check(const struct cmd_options *options, int argc, char **argv);
int cmd_route(const struct cmd_options *options, int argc, char **argv);
int cmd_config(const struct cmd_options *options, int argc, char **argv);
int cmd_replay(const struct cmd_options *options, int argc, char **argv);
int cmd_resume(const struct cmd_options *options, int argc, char **argv);
int cmd_show(const struct cmd_options *options, int argc, char **argv);
int cmd_list(const struct cmd_options *options, int argc, char **argv);
int cmd_stats(const struct cmd_options *options, int argc, char **argv);
int cmd_abandon(const struct cmd_options *options, int argc, char **argv);
int cmd_purge(const struct cmd_options *options, int argc, char **argv);
int cmd_locks(const struct cmd_options *options, int argc, char **argv);
int cmd_version(const struct cmd_options *options, int argc, char **argv);
int cmd_help(const struct cmd_options *options, int argc, char **argv);

/* The environment variables that a delivery keeps (privilege_clear_environment): those set by Postfix, and some that
 * cannot be turned against us. TMPDIR is where a large message is kept. */
extern const char *const cmd_environment[];

/* For commands that people use: prints "oncedrop: text" on stderr. Returns status. */
int cmd_fail(int status, const char *format, ...) OD_PRINTF(2, 3);

/* Prints the usage line of a command on stderr. Returns EX_USAGE. */
int cmd_usage(const char *name);

/* Loads and checks the configuration and opens the log; NULL with the fault set. log_fd: as stderr_fd of log_open. */
struct config *cmd_config_load(const struct cmd_options *options, int log_fd, struct fault *fault) OD_MUST;

/* For commands that people use: loads the configuration and, unless `ledger` is NULL, connects to the database. Returns
 * 0; on failure prints the reason on stderr and returns EX_CONFIG or EX_UNAVAILABLE. */
int cmd_open(const struct cmd_options *options, struct config **config, struct ledger **ledger) OD_MUST;

/* For commands that do what a delivery does: root becomes service.user for good, unless conninfo names another database
 * user. reads_all: keep root's right to read any file. Returns 0; on failure prints the reason on stderr and returns
 * the exit status. */
int cmd_become_service(const struct config *config, bool reads_all) OD_MUST;

/* For commands whose only option is --json. optind becomes the index of the first operand. */
bool cmd_parse_json(int argc, char **argv, bool *ret) OD_MUST;

#define CMD_JOBS_ALLOWED "a number from 1 to 64"

/* Parses the value of -j: a number of workers, from 1 to 64. */
bool cmd_parse_jobs(const char *text, size_t *ret) OD_MUST;

#endif
