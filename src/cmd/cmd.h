/* SPDX-License-Identifier: ISC
 *
 * The commands: arguments in, exit status out. Those for people use ordinary statuses and say errors on stderr. */
#ifndef ONCEDROP_CMD_H
#define ONCEDROP_CMD_H

#include "base/config.h"
#include "ledger/ledger.h"

/* What stands before the command's name. */
struct cmd_options {
    const char *config_file;
    const char *const *overrides; /* NULL-terminated */
    bool verbose;
};

struct cmd {
    const char *name;
    int (*run)(const struct cmd_options *options, int argc, char **argv); /* argv[0] is the command's name */
    bool delivers;         /* called by Postfix: every failure defers, every usage error too */
    const char *arguments; /* for the usage line */
    const char *summary;   /* one line */
    const char *help;      /* the rest of `help COMMAND` */
};

/* All of them; ends with a NULL name. */
extern const struct cmd cmd_table[];

const struct cmd *cmd_find(const char *name) OD_MUST;

/* The name of the command that is nearest to one that was mistyped, or NULL. */
const char *cmd_nearest(const char *name) OD_MUST;

/* Prints what `help COMMAND` does. */
void cmd_print_help(const struct cmd *cmd);

int cmd_deliver(const struct cmd_options *options, int argc, char **argv);
int cmd_lmtp(const struct cmd_options *options, int argc, char **argv);
int cmd_schema(const struct cmd_options *options, int argc, char **argv);
int cmd_check(const struct cmd_options *options, int argc, char **argv);
int cmd_route(const struct cmd_options *options, int argc, char **argv);
int cmd_config(const struct cmd_options *options, int argc, char **argv);
int cmd_replay(const struct cmd_options *options, int argc, char **argv);
int cmd_resume(const struct cmd_options *options, int argc, char **argv);
int cmd_show(const struct cmd_options *options, int argc, char **argv);
int cmd_list(const struct cmd_options *options, int argc, char **argv);
int cmd_stats(const struct cmd_options *options, int argc, char **argv);
int cmd_purge(const struct cmd_options *options, int argc, char **argv);
int cmd_locks(const struct cmd_options *options, int argc, char **argv);
int cmd_version(const struct cmd_options *options, int argc, char **argv);
int cmd_help(const struct cmd_options *options, int argc, char **argv);

/* What of the environment a delivery keeps (privilege_clear_environment): what Postfix tells, and what nobody can turn
 * against us. TMPDIR is where a large message is kept. */
extern const char *const cmd_environment[];

/* For the commands that people use: "oncedrop: text" on stderr. Returns status. */
int cmd_fail(int status, const char *format, ...) OD_PRINTF(2, 3);

/* The usage line of a command on stderr. Returns EX_USAGE. */
int cmd_usage(const char *name);

/* Loads and checks the configuration and opens the log; NULL with the fault set. log_fd as for log_open. */
struct config *cmd_config_load(const struct cmd_options *options, int log_fd, struct fault *fault) OD_MUST;

/* For the commands that people use: the configuration and, when `ledger` is not NULL, the database. On failure says
 * why on stderr and returns the exit status: EX_CONFIG or EX_UNAVAILABLE; else 0. */
int cmd_open(const struct cmd_options *options, struct config **config, struct ledger **ledger) OD_MUST;

/* For commands that do what a delivery does: root becomes service.user for good, unless conninfo names another database
 * user. reads_all: but reads every file that root can. Returns 0, or the exit status when why not was said on stderr. */
int cmd_become_service(const struct config *config, bool reads_all) OD_MUST;

/* For commands whose only option is --json: optind is the first argument behind it. */
bool cmd_parse_json(int argc, char **argv, bool *ret) OD_MUST;

#define CMD_JOBS_ALLOWED "a number from 1 to 64"

/* The value of -j: a number of workers, from 1 to 64. */
bool cmd_parse_jobs(const char *text, size_t *ret) OD_MUST;

#endif
