/* SPDX-License-Identifier: ISC
 *
 * The commands: arguments in, exit status out. */
#ifndef ONCEDROP_CMD_H
#define ONCEDROP_CMD_H

#include <glib.h>

#include "base/config.h"
#include "cmd/options.h"
#include "ledger/ledger.h"
#include "route/route.h"

struct cmd {
    const char *config_file;      /* options before the command's name */
    const char *const *overrides; /* NULL-terminated */
    bool verbose;
    int argc; /* from the name on */
    char **argv;
    struct options options; /* these two, except of deliver and lmtp, are parsed before the command runs */
    char **operands;
    struct config *config; /* set by cmd_open and cmd_open_ledger, closed by main() */
    struct ledger *ledger;
    struct sessions *sessions; /* of verify_copy.c */
    struct error error;
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
int cmd_expire(struct cmd *cmd);
int cmd_purge(struct cmd *cmd);
int cmd_export(struct cmd *cmd);
int cmd_forget(struct cmd *cmd);
int cmd_locks(struct cmd *cmd);

/* Runs the first operand of `schema` or `ledger`. Returns CMD_USAGE if it is none of these words. */
#define CMD_SCHEMA_WORDS "install, upgrade, method, print or version"
#define CMD_LEDGER_WORDS "backup, check, copy, " CMD_SCHEMA_WORDS
int cmd_schema_word(struct cmd *cmd);

/* Clears the environment, except Postfix's variables and harmless ones. */
void cmd_clear_environment(void);

/* Prints "oncedrop: text" on stderr, for commands that people use. Returns status. */
int cmd_fail(int status, const char *format, ...) OD_PRINTF(2, 3);

/* Like cmd_fail(), with the command's error. */
int cmd_error(int status, const struct cmd *cmd);

/* Prints "oncedrop: COMMAND: text" on stderr. Returns false, for the caller to return CMD_USAGE. */
bool cmd_wrong(const struct cmd *cmd, const char *format, ...) OD_PRINTF(2, 3);

/* Sets *ret to the first operand as the ledger compares it: a new string, without <>, in lower case. Returns false,
 * with a report, if it is empty (every bounce's sender) or not UTF-8. */
bool cmd_parse_address(const struct cmd *cmd, char **ret) OD_MUST;

/* Returns the id without enclosing <>, a new string. */
char *cmd_strip_brackets(const char *id) OD_MUST;

/* Loads the configuration and opens the log. log_fd: as in log_open. Returns NULL with the error set. */
struct config *cmd_config_load(const struct cmd *cmd, int log_fd, struct error *error) OD_MUST;

/* As whom root goes on. Other users stay who they are. */
enum cmd_user {
    CMD_AS_CALLER,  /* as root: it opens no ledger, or becomes another user later (`ledger copy`) */
    CMD_AS_OWNER,   /* if the ledger is a file, as service.user, whose it is: no file next to it may belong to root */
    CMD_AS_SERVICE, /* as service.user, as a delivery does, unless conninfo names another database user */
    CMD_AS_READER,  /* the same, with root's right to read any file */
};

/* Loads what service.user may not be able to read: the ledger's engine and, if root changes, all modules. Then root becomes that
 * user for good. Returns 0, EX_UNAVAILABLE if the engine cannot be loaded, or EX_OSERR if there is no such user or the kernel
 * refuses, with *error set. */
int cmd_become(const struct config *config, enum cmd_user user, struct error *error) OD_MUST;

/* For commands that people use: loads the configuration, and cmd_become. Returns 0; on failure prints the reason on stderr and
 * returns EX_CONFIG, or what cmd_become returned. */
int cmd_open(struct cmd *cmd, enum cmd_user user) OD_MUST;

/* cmd_open as CMD_AS_OWNER, and connects to the ledger; EX_UNAVAILABLE if that fails. */
int cmd_open_ledger(struct cmd *cmd) OD_MUST;

/* Routes an address as a delivery does. Precondition: cmd->ledger is open if route.account_query is set. */
enum route_result cmd_find_route(struct cmd *cmd, const char *text, struct route *ret) OD_MUST;

#endif
