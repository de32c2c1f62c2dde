/* SPDX-License-Identifier: ISC
 *
 * What commands share. Begin with cmd.c (struct cmd) and command.c; check.h is for `check`. */
#ifndef ONCEDROP_CMD_H
#define ONCEDROP_CMD_H

#include <glib.h>
#include <jansson.h>
#include <stdio.h>

#include "base/base.h"
#include "base/config.h"
#include "ledger/ledger.h"
#include "ledger/ledger_query.h"
#include "route/route.h"

/* format_time.c
 * Times for people. */

#define FORMAT_TIME_SIZE 32

#define PARSE_SINCE_ALLOWED \
    "an age (30m, 2h, 7d), today, yesterday, or a date (2025-08-01, 2025-08-01T10:00, 2025-08-01T10:00Z)"

/* Parses an age ("2h"), today, yesterday, or a date with optional time and zone (default: local). Sets *ret as in
 * struct ledger_filter: milliseconds before now, or @ and seconds since 1970. Returns false, *ret unchanged, for other
 * text. */
bool parse_since(const char *text, char ret[FORMAT_TIME_SIZE]) OD_MUST;

/* Returns a new string, with local times for the ledger's: "2026-11-26 14:03:07+01:00". Programs get UTC. */
char *format_time_local(const char *text) OD_MUST;

/* Makes UTC the local time. */
void format_time_use_utc(void);

/* parse.c
 * The options of all commands. A row of parse.c says how each is read; the SYNOPSIS of a manual page, which command takes
 * it. */

/* Without the option: false, NULL, "" or the default. */
struct options {
    bool json, utc, dry_run;
    bool running;                     /* ledger copy */
    bool send, quick;                 /* check */
    bool non_default, defaults, test; /* config */
    bool digest, verify;              /* show; verify also: replay */
    bool missing;                     /* list */
    bool prometheus;                  /* stats */
    bool force;                       /* replay */
    bool include_deleted;             /* restore */
    bool yes;                         /* forget */
    bool undo, sent_copies;           /* setup */
    bool follow;                      /* feed run */
    bool bytes;                       /* feed show */
    const char *part;                 /* feed show */
    const char *state, *recipient, *sender, *mailbox, *subject, *message_id,
        *queue_id;                                         /* list; sender also: replay -f */
    const char *account;                                   /* restore */
    const char *raw;                                       /* export */
    const char *domain, *passed_on;                        /* setup; its script reads `given` */
    GPtrArray *recipients;                                 /* replay */
    const char *mbox;                                      /* replay: the dialect */
    char since[FORMAT_TIME_SIZE], until[FORMAT_TIME_SIZE]; /* as in struct ledger_filter */
    int64_t min_delay_ms;                                  /* list; -1 */
    int64_t older_than_ms;                                 /* purge; 0 */
    int64_t jobs, limit;
    int64_t tries;    /* feed run; 0 */
    GPtrArray *given; /* all: "--name" or "--name=value" */
};

/* cmd.c
 * The commands: arguments in, exit status out. */

struct cmd {
    const char *config_file;      /* options before the command's name */
    const char *const *overrides; /* NULL-terminated */
    const char *commit;           /* "": unknown */
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

/* Each in the file of its name; cmd_lmtp in serve.c, cmd_resume and cmd_restore in replay.c, cmd_expire and cmd_forget in
 * purge.c, cmd_locks in list.c, cmd_schema in ledger.c, cmd_setup in config.c. */
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
int cmd_feed(struct cmd *cmd);
int cmd_version(struct cmd *cmd);

#define CMD_NOTHING "nothing is recorded about %s"
#define CMD_FEED_WORDS "list, run, show, wait, retry, fill, reset or drop"

/* The first operand of `schema` or `ledger` is one of these. */
#define CMD_SCHEMA_WORDS "install, upgrade, method, print or version"
#define CMD_LEDGER_WORDS "backup, check, copy, " CMD_SCHEMA_WORDS

struct message;

/* feed_message.c
 * The message of a feed's row, from the record or from its mailbox. */

/* Reads it into a new file. row: of ledger_feed_read(). Returns its descriptor, at the beginning; -1 with the command's
 * error set. *ret_gone: it is certainly not there any more. Precondition: verify_begin(). */
int feed_message_open(struct cmd *cmd, const struct sql_rows *rows, bool *ret_gone) OD_MUST;

/* Adds what the message says to a JSON object. False: the command's error is set. */
bool feed_message_json(struct cmd *cmd, const struct message *message, json_t *object) OD_MUST;

/* feed_run.c
 * feed run: runs a command for each message of a feed. Precondition: nothing is open. Returns the exit status. */
int feed_run(struct cmd *cmd, const char *feed, char **command) OD_MUST;

/* Clears the environment, except Postfix's variables and harmless ones. */
void cmd_clear_environment(void);

/* Prints "oncedrop: text" on stderr, for commands that people use. Returns status. */
int cmd_fail(int status, const char *format, ...) OD_PRINTF(2, 3);

/* Like cmd_fail(), with the command's error. */
int cmd_error(int status, const struct cmd *cmd);

/* Prints "oncedrop: COMMAND: text" on stderr. Returns CMD_USAGE. */
int cmd_wrong(const struct cmd *cmd, const char *format, ...) OD_PRINTF(2, 3);

/* Reports that there is no such feed. Returns EX_USAGE. */
int cmd_no_feed(const struct cmd *cmd, const char *feed) OD_MUST;

/* Reports that there is no such message. Returns 1. */
int cmd_no_message(struct cmd *cmd, const char *id) OD_MUST;

/* Sets *ret to the first operand as the ledger compares it: a new string, without <>, in lower case. Returns 0, or
 * CMD_USAGE, with a report, if it is empty (every bounce's sender) or not UTF-8. */
int cmd_parse_address(const struct cmd *cmd, char **ret) OD_MUST;

/* Loads the configuration and opens the log. log_fd: as in log_open. Returns NULL with the error set. */
struct config *cmd_config_load(const struct cmd *cmd, int log_fd, struct error *error) OD_MUST;

/* The user that root becomes; others stay who they are. */
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

/* command.c
 * The table of commands. */

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

/* parse.c */

/* Parses the arguments, with `min` to `max` operands, into cmd->options and cmd->operands.
 *
 * synopsis  of the manual page: "[--state STATE] [--verify | --force] PATH..."
 * what      the operands, as in "the id of a message"
 *
 * Returns 0, or CMD_USAGE, with a report, if an argument is wrong. */
int options_parse(struct cmd *cmd, const char *synopsis, int min, int max, const char *what) OD_MUST;

void options_clear(struct options *options);

/* table.c
 * Rows as text, with local times and control characters escaped, and as JSON. */

/* Prints aligned columns with headings, a line for each row. Omits empty columns and `without` (or NULL); prints nothing
 * without rows. */
void table_print(const struct sql_rows *table, const char *without);

/* Prints a row as "name: value" lines, without NULL values and empty arrays. */
void table_print_row(const struct sql_rows *table, size_t row);

/* Return rows as objects; a cell without a value is null. */
json_t *table_json(const struct sql_rows *table) OD_MUST;
json_t *table_row_json(const struct sql_rows *table, size_t row) OD_MUST;

/* Prints a line, and frees json. */
void table_print_json(json_t *json);

/* verify_copy.c
 * Are stored copies still in their mailboxes? For show --verify and list --missing, by delivery/presence.h: reports only what
 * is certain. Root becomes service.user for good. One login for each account, even if it fails. Precondition: the
 * ledger is connected. */

/* Prepares to read mailboxes: root becomes service.user, and cmd->sessions is there. */
bool verify_begin(struct cmd *cmd) OD_MUST;

/* Returns the configuration with the account's server; NULL with the error set if it is unknown. */
const struct config *verify_server(struct cmd *cmd, const char *account, struct error *error) OD_MUST;

/* Verifies the copies of a message, a row of ledger_find_messages's result.
 *
 * Returns rows of account, mailbox, copy, uid, and reason (of the failure, or how the copy differs). Returns NULL with
 * the command's error set if the ledger does not reply, or root cannot become that user. */
struct sql_rows *verify_message(struct cmd *cmd, const struct sql_rows *messages, size_t row) OD_MUST;

/* Verifies each row of ledger_list's table, and removes all that are not certainly missing. If one message is missing, so
 * are all with its Message-ID in that mailbox. *ret_unknown: number of unknown copies. Returns false, and the table is
 * useless, where verify_message() returns NULL. */
bool verify_list(struct cmd *cmd, struct sql_rows *table, size_t *ret_unknown) OD_MUST;

#endif
