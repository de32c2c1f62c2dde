/* SPDX-License-Identifier: ISC
 *
 * The commands: arguments in, exit status out. */
#ifndef ONCEDROP_CMD_H
#define ONCEDROP_CMD_H

#include <glib.h>

#include "base/config.h"
#include "ledger/ledger.h"
#include "route/route.h"

struct cmd {
    const char *config_file;      /* options before the command's name */
    const char *const *overrides; /* NULL-terminated */
    bool verbose;
    int argc; /* from the name on */
    char **argv;
    char **operands;       /* set by cmd_parse */
    struct config *config; /* set by cmd_open and cmd_connect, closed by main() */
    struct ledger *ledger;
    struct visits *visits; /* visit.h */
    struct fault fault;
};

#define CMD_USAGE (-1) /* the command line is wrong, which has been reported */

int cmd_deliver(struct cmd *cmd);
int cmd_lmtp(struct cmd *cmd);
int cmd_serve(struct cmd *cmd);
int cmd_schema(struct cmd *cmd);
int cmd_ledger(struct cmd *cmd);
int cmd_setup(struct cmd *cmd);
int cmd_check(struct cmd *cmd);
int cmd_config(struct cmd *cmd);
int cmd_route(struct cmd *cmd);
int cmd_replay(struct cmd *cmd);
int cmd_resume(struct cmd *cmd);
int cmd_restore(struct cmd *cmd);
int cmd_show(struct cmd *cmd);
int cmd_list(struct cmd *cmd);
int cmd_stats(struct cmd *cmd);
int cmd_abandon(struct cmd *cmd);
int cmd_purge(struct cmd *cmd);
int cmd_export(struct cmd *cmd);
int cmd_forget(struct cmd *cmd);
int cmd_locks(struct cmd *cmd);

/* Runs the first operand of `schema` or `ledger`. Returns CMD_USAGE if it is none of these words. */
#define CMD_SCHEMA_WORDS "install, upgrade, method, print or version"
int cmd_schema_word(struct cmd *cmd);

/* Clears the environment, except Postfix's variables and harmless ones. */
void cmd_clear_environment(void);

/* Prints "oncedrop: text" on stderr, for commands that people use. Returns status. */
int cmd_fail(int status, const char *format, ...) OD_PRINTF(2, 3);

/* Like cmd_fail(), with the command's error. */
int cmd_fault(int status, const struct cmd *cmd);

/* Prints "oncedrop: COMMAND: text" on stderr. Returns false. */
bool cmd_wrong(const struct cmd *cmd, const char *format, ...) OD_PRINTF(2, 3);

/* Like cmd_wrong(), for the value of an option. */
bool cmd_wrong_value(const struct cmd *cmd, const char *option, const char *value, const char *allowed);

/* An option of a command. One pointer is set: text gets the last value, list all. */
struct cmd_option {
    const char *name; /* of --name; a single letter: of -n */
    bool *flag;
    const char **text;
    GPtrArray *list;
};

/* Parses options (ended by one without a name; or NULL) and `least` to `most` operands. what: the operands, as in "the
 * id of a message". Returns false, with a report, if an argument is wrong. */
bool cmd_parse(struct cmd *cmd, const struct cmd_option *options, int least, int most, const char *what) OD_MUST;

/* Parses a number of workers; NULL: 1. Returns false, with a report, if it is wrong. */
bool cmd_parse_jobs(const struct cmd *cmd, const char *text, size_t *ret) OD_MUST;

/* Sets *ret to the first operand as the ledger compares it: a new string, without <>, in lower case. Returns false,
 * with a report, if it is empty (every bounce's sender) or not UTF-8. */
bool cmd_parse_person(const struct cmd *cmd, char **ret) OD_MUST;

/* Returns the id without enclosing <>, a new string. */
char *cmd_strip_brackets(const char *id) OD_MUST;

/* Loads the configuration and opens the log. log_fd: as in log_open. Returns NULL with the error set. */
struct config *cmd_config_load(const struct cmd *cmd, int log_fd, struct fault *fault) OD_MUST;

/* For commands that people use: loads the configuration. cmd_connect: also connects to the database. Return 0; on failure
 * print the reason on stderr and return EX_CONFIG or EX_UNAVAILABLE. */
int cmd_open(struct cmd *cmd) OD_MUST;
int cmd_connect(struct cmd *cmd) OD_MUST;

/* Loads the modules, which perhaps only root can read. Then root becomes service.user for good, unless conninfo names another
 * database user. reads_all: keep root's right to read any file. Returns 0; else an exit status, with the fault set. */
int cmd_become_service(struct cmd *cmd, bool reads_all) OD_MUST;

/* As cmd_open, for commands that do what a delivery does, and as cmd_become_service. */
int cmd_open_as_service(struct cmd *cmd, bool reads_all) OD_MUST;

/* As cmd_open, for the others that open the ledger: root becomes service.user for good if the ledger is a file, whose owner
 * that is. cmd_connect does so. */
int cmd_open_as_owner(struct cmd *cmd) OD_MUST;

/* If the ledger is a file, loads its engine (root: all modules). Then root becomes service.user for good, since no file beside
 * the ledger may belong to root. False with the fault set if the engine cannot be loaded, there is no such user, or the kernel
 * refuses. */
bool cmd_become_owner(const struct config *config, bool reads_all, struct fault *fault) OD_MUST;

/* Routes an address as a delivery does. Precondition: cmd->ledger is open if route.account_query is set. */
enum route_result cmd_find_route(struct cmd *cmd, const char *text, struct route *ret) OD_MUST;

#endif
