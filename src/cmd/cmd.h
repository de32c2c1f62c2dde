/* SPDX-License-Identifier: ISC
 *
 * The commands: arguments in, exit status out. Those for people use ordinary exit statuses and print errors on stderr. */
#ifndef ONCEDROP_CMD_H
#define ONCEDROP_CMD_H

#include <glib.h>

#include "base/config.h"
#include "ledger/ledger.h"
#include "route/route.h"

/* A command, its options and operands, and what it uses. */
struct cmd {
    const char *config_file;      /* the options before its name */
    const char *const *overrides; /* NULL-terminated */
    bool verbose;
    int argc; /* from its name on */
    char **argv;
    char **operands;       /* NULL-terminated; set by cmd_parse */
    struct config *config; /* set by cmd_open and cmd_open_ledger, closed by main() */
    struct ledger *ledger;
    struct visits *visits; /* visit.h */
    struct fault fault;
};

#define CMD_USAGE (-1) /* instead of an exit status: the command line is wrong, as was reported */

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

/* What `schema` and `ledger` have in common: does what the first operand says; CMD_USAGE if that is none of these words. */
#define CMD_SCHEMA_WORDS "install, upgrade, method, print or version"
int cmd_schema_word(struct cmd *cmd);

/* Clears the environment, as for a delivery, except for the variables that Postfix sets, and some that cannot be turned
 * against us. TMPDIR is where a large message is kept. */
void cmd_clear_environment(void);

/* For commands that people use: prints "oncedrop: text" on stderr. Returns status. */
int cmd_fail(int status, const char *format, ...) OD_PRINTF(2, 3);

/* The same with the text of the command's fault. */
int cmd_fault(int status, const struct cmd *cmd);

/* The same for an error in the arguments, "oncedrop: COMMAND: text", which the command answers with CMD_USAGE. Always
 * false. */
bool cmd_wrong(const struct cmd *cmd, const char *format, ...) OD_PRINTF(2, 3);

/* The same for the value of an option: says what is allowed. */
bool cmd_wrong_value(const struct cmd *cmd, const char *option, const char *value, const char *allowed);

/* An option of a command. One of the pointers is where it goes; its last value counts, or all if they are added to a list. */
struct cmd_option {
    const char *name; /* --name; a letter alone: -n */
    bool *flag;
    const char **text;
    GPtrArray *list;
};

/* Reads options, which end with one without a name, and may be NULL, and operands.
 * least, most  number of operands, and what they are: "the id of a message"
 * False: an option or an operand is wrong, as was reported. */
bool cmd_parse(struct cmd *cmd, const struct cmd_option *options, int least, int most, const char *what) OD_MUST;

/* The value of -j, a number of workers; NULL: 1. False: it is wrong, as was reported. */
bool cmd_parse_jobs(const struct cmd *cmd, const char *text, size_t *ret) OD_MUST;

/* The first operand, an address or account, perhaps enclosed in <>, as the ledger compares it: lower case; a new string.
 * False: it is empty, which is the sender of every bounce, or not UTF-8, as was reported. */
bool cmd_parse_person(const struct cmd *cmd, char **ret) OD_MUST;

/* An id that may be enclosed in <>, without them; a new string. */
char *cmd_strip_brackets(const char *id) OD_MUST;

/* Loads and checks the configuration and opens the log; NULL with the fault set. log_fd: as stderr_fd of log_open. */
struct config *cmd_config_load(const struct cmd *cmd, int log_fd, struct fault *fault) OD_MUST;

/* As whom root goes on. Other users stay who they are. */
enum cmd_user {
    CMD_AS_CALLER,  /* as root: it opens no ledger, or becomes another user later (`ledger copy`) */
    CMD_AS_OWNER,   /* if the ledger is a file, as service.user, whose it is: no file beside it may belong to root */
    CMD_AS_SERVICE, /* as service.user, as a delivery does, unless conninfo names another database user */
    CMD_AS_READER,  /* the same, with root's right to read any file */
};

/* Loads what service.user may not be able to read: the ledger's engine and, if root changes, all modules. Then root becomes that
 * user for good. Returns 0, EX_UNAVAILABLE if the engine cannot be loaded, or EX_OSERR if there is no such user or the kernel
 * refuses, with the fault set. */
int cmd_become(const struct config *config, enum cmd_user user, struct fault *fault) OD_MUST;

/* For commands that people use: loads the configuration, and cmd_become. Returns 0; on failure prints the reason on stderr and
 * returns EX_CONFIG, or what cmd_become returned. */
int cmd_open(struct cmd *cmd, enum cmd_user user) OD_MUST;

/* cmd_open as CMD_AS_OWNER, and connects to the ledger; EX_UNAVAILABLE if that fails. */
int cmd_open_ledger(struct cmd *cmd) OD_MUST;

/* Finds where an address leads to, as a delivery does; cmd->ledger is open if route.account_query needs it. */
enum route_result cmd_find_route(struct cmd *cmd, const char *text, struct route *ret) OD_MUST;

#endif
