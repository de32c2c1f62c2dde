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

#define CMD_USAGE (-1) /* instead of an exit status: the command line is wrong, as was said on stderr */

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

/* Loads and checks the configuration and opens the log; NULL with the fault set. log_fd: as stderr_fd of log_open. */
struct config *cmd_config_load(const struct cmd_options *options, int log_fd, struct fault *fault) OD_MUST;

/* For commands that people use: loads the configuration and, unless `ledger` is NULL, connects to the database. Returns
 * 0; on failure prints the reason on stderr and returns EX_CONFIG or EX_UNAVAILABLE. */
int cmd_open(const struct cmd_options *options, struct config **config, struct ledger **ledger) OD_MUST;

/* For commands that do what a delivery does: root becomes service.user for good, unless conninfo names another database
 * user. reads_all: keep root's right to read any file. Returns 0; on failure prints the reason on stderr and returns
 * the exit status. */
int cmd_become_service(const struct config *config, bool reads_all) OD_MUST;

#define CMD_JOBS_ALLOWED "a number from 1 to 64"

/* Parses the value of -j: a number of workers, from 1 to 64. */
bool cmd_parse_jobs(const char *text, size_t *ret) OD_MUST;

#endif
