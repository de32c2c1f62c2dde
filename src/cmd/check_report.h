/* SPDX-License-Identifier: ISC
 *
 * The report of `oncedrop check`, its steps, of which none can block the others, and those that have files of their own. */
#ifndef ONCEDROP_CHECK_REPORT_H
#define ONCEDROP_CHECK_REPORT_H

#include "cmd/cmd.h"

/* Input of the steps, and what one finds out for another: shared between their processes. */
struct check {
    struct cmd *cmd;
    const char *address;  /* NULL: none given */
    const char *postfix;  /* directory of Postfix's configuration; NULL: the default */
    bool connected, fits; /* the database answers; it has the right schema version */
    bool routed;          /* it is known where mail goes: */
    char account[1024], inbox[1024], sent[1024];
    char server[256]; /* the name of the account's IMAP server: config_server */
};

/* To be called first. json: print one array at the end instead of a line for each item at once. colour: for the
 * status. */
void check_begin(bool json, bool colour);

/* Reports "ok" or "failed", the name of the item, and a text; if it failed, the text says what to do. An ok after a
 * warning or a failure of the same item is left out, and so is a name that the text repeats. Returns good. */
bool check_item(bool good, const char *name, const char *format, ...) OD_PRINTF(3, 4);

void check_warning(const char *name, const char *format, ...) OD_PRINTF(2, 3);

/* The configuration with the account's IMAP server. */
const struct config *check_server_of(const struct check *check) OD_MUST;

/* Zeroed memory shared by a step and its caller. */
void *check_shared(size_t size) OD_MUST;

/* Runs a step in a separate process, which is killed after this many milliseconds: what it has reported by then is
 * kept, and the item `name` fails with `late`. Its only other effect is what it writes to check_shared memory. */
void check_step(const char *name, int64_t ms, const char *late, void (*run)(struct check *check), struct check *check);

/* How many items failed. */
size_t check_failures(void) OD_MUST;

/* Ends the report, with a line that counts its items unless it is JSON. Returns the exit status: 1 if an item failed,
 * else 0. */
int check_end(void) OD_MUST;

/* Whether the database answers, and has the right schema: reads, and takes no lock. */
void check_database(struct check *check);

/* Examines the IMAP server and, if mail is routed to an account, logs in to it and looks for its mailboxes. */
void check_imap(struct check *check);

/* Whether the other IMAP servers answer, and their certificates are accepted. */
void check_servers(struct check *check);

/* The same without a login, as far as these milliseconds go. */
void check_greeting(struct check *check, int64_t ms);

/* Whether the service answers on its unix socket, whom it believes, and whether it runs with this configuration. Reports
 * nothing if there is no socket, since a service need not run. May wait for long. */
void check_service(struct check *check);

/* The whole of `check --quick`. Returns its exit status. */
int check_quick(struct check *check, bool json);

/* Examines Postfix's settings, if postconf(1) is installed: does mail come to us, and can none of them bounce it, or
 * keep a Sent copy from being made? */
void check_postfix(struct check *check);

#define CHECK_SEND_MS 60000

/* Sends a message to the address, and reports what becomes of it. Where it leads to is known. */
void check_send(struct check *check);

#endif
