/* SPDX-License-Identifier: ISC
 *
 * The report of `oncedrop check`, and its steps. No step can block another. */
#ifndef ONCEDROP_CHECK_REPORT_H
#define ONCEDROP_CHECK_REPORT_H

#include "cmd/cmd.h"

/* Input of the steps, and what one step finds out for another; in memory that their processes share. */
struct check {
    struct cmd *cmd;
    const char *address;  /* or NULL */
    const char *postfix;  /* Postfix's configuration directory; NULL: the default */
    bool connected, fits; /* the database replies; its schema version is right */
    bool routed;          /* the next members are set */
    char account[1024], inbox[1024], sent[1024];
    char server[256]; /* name of the account's server, for config_server */
};

/* Call first. json: check_end prints one array, instead of a line for each item at once. colour: of the status. */
void check_begin(bool json, bool colour);

/* Reports "ok" or "failed", the item's name, and a text, which says what to do after a failure. Returns good. Omits an
 * ok after a warning or failure of the same item, and an item's name that the text repeats. */
bool check_item(bool good, const char *name, const char *format, ...) OD_PRINTF(3, 4);

void check_warning(const char *name, const char *format, ...) OD_PRINTF(2, 3);

/* Returns the configuration with the account's IMAP server. */
const struct config *check_server_of(const struct check *check) OD_MUST;

/* Returns zeroed memory that a step shares with its caller. */
void *check_shared(size_t size) OD_MUST;

/* Runs a step in a child process, which is killed after ms milliseconds; item `name` then fails with `late`, and
 * earlier items are kept. A step has no other effects than its items and what it writes to check_shared memory. */
void check_step(const char *name, int64_t ms, const char *late, void (*run)(struct check *check), struct check *check);

size_t check_failures(void) OD_MUST;

/* Prints the JSON, or a line that counts the items. Returns the exit status: 1 if an item failed, else 0. */
int check_end(void) OD_MUST;

/* Checks that the database replies and has the right schema. Only reads, without a lock. */
void check_database(struct check *check);

/* Examines the account's IMAP server. If the route is known, logs in and examines the account's mailboxes. */
void check_imap(struct check *check);

/* Checks that the other IMAP servers reply, and that their certificates are accepted. */
void check_servers(struct check *check);

/* Checks all IMAP servers without a login, within ms milliseconds in all. */
void check_greeting(struct check *check, int64_t ms);

/* Checks that the service replies on its socket, which clients it trusts, and that it runs with this configuration.
 * Reports nothing without a socket, since the service is optional. May wait long. */
void check_service(struct check *check);

/* Runs `check --quick`. Returns the exit status. */
int check_quick(struct check *check, bool json);

/* Examines Postfix's settings, if postconf(1) is installed: mail must reach oncedrop, and no setting may bounce it or
 * prevent a Sent copy. */
void check_postfix(struct check *check);

#define CHECK_SEND_MS 60000

/* Sends a message to the address and reports the result. Precondition: check->routed. */
void check_send(struct check *check);

#endif
