/* SPDX-License-Identifier: ISC
 *
 * What the files of `check` share: the report, the steps, Postfix's settings. */
#ifndef ONCEDROP_CHECK_H
#define ONCEDROP_CHECK_H

#include <glib.h>

#include "base/base.h"
#include "cmd/cmd.h"

/* check_report.c
 * The report of `oncedrop check`, and its steps. No step can block another. */

/* Input of the steps, and results that one passes to another, in shared memory. */
struct check {
    struct cmd *cmd;
    const char *address;
    const char *postfix;  /* Postfix's configuration directory; NULL: the default */
    bool connected, fits; /* the database replies; it has the right schema version */
    bool routed;          /* the rest is set */
    char account[1024], inbox[1024], sent[1024];
    char server[256]; /* name of the account's server, for config_server */
};

/* Call first. json: check_end prints one array, instead of lines. */
void check_begin(bool json);

#define CHECK_UNRESPONSIVE "it accepts connections but does not answer, or is slow"

enum check_status { CHECK_FAILED = false, CHECK_OK = true, CHECK_WARNING };

/* Reports the status, which may be a truth, the item, and a text, which says what to do after a failure. Returns false
 * after a failure. Omits an ok after the item's warning or failure, and a name that the text repeats. */
bool check_item(enum check_status status, const char *name, const char *format, ...) OD_PRINTF(3, 4);

/* Returns zeroed memory shared by a step and its caller. */
void *check_shared(size_t size) OD_MUST;

/* Runs a step in a child process, whose only effects are items and check_shared memory. After ms milliseconds it is
 * killed, and item `name` fails with `timeout_text`. */
void check_step(const char *name, int64_t ms, const char *timeout_text, void (*run)(struct check *check),
                struct check *check);

size_t check_failures(void) OD_MUST;

/* Ends the report. Returns the exit status: 1 if an item failed. */
int check_end(void) OD_MUST;

/* The steps, each in the file of its name; check_servers, check_greeting and check_server_of in check_imap.c. */

const struct config *check_server_of(const struct check *check) OD_MUST;

/* Only reads, without a lock. */
void check_database(struct check *check);

/* Examines the account's server and, if check->routed, its mailboxes. */
void check_imap(struct check *check);

/* Examines the other servers, without a login. */
void check_servers(struct check *check);

/* Examines all IMAP servers without a login, within ms milliseconds. */
void check_greeting(struct check *check, int64_t ms);

/* Checks that the service replies, its clients, and its configuration. Reports nothing without a socket: the service is
 * optional. May wait long. */
void check_service(struct check *check);

/* Returns the exit status. */
int check_quick(struct check *check);

/* Checks, if postconf(1) is installed, that mail reaches oncedrop, and that no setting bounces it or prevents a Sent
 * copy. */
void check_postfix(struct check *check);

#define CHECK_SEND_MS 60000

/* Precondition: check->routed. */
void check_send(struct check *check);

/* postconf.c
 * Postfix's settings, from postconf(1) and postmap(1). */

struct postconf_service {
    char name[128], type[16];
    char daemon[64]; /* pipe, spawn, lmtp, … */
    char *line;      /* complete; NULL: end */
};

struct postconf {
    /* NULL: the default. */
    const char *directory;
    /* name → value; service/type/name → value of -o in master.cf */
    GHashTable *values;
    /* Set by main.cf. */
    GHashTable *own;
    /* Of master.cf. */
    struct postconf_service *services;
};

/* Runs a program. Returns its standard output, a new string, and sets *ret_status as waitpid(2) does; NULL if it does not run. */
char *postconf_run(const char *const *words, int *ret_status) OD_MUST;

/* Returns NULL if Postfix is not installed or configured. directory is not copied. */
struct postconf *postconf_read(const char *directory) OD_MUST;

void postconf_free(struct postconf **postconf);

/* Returns a setting or its default, with references expanded; "" if unknown. service: whose -o overrides main.cf; or
 * NULL. */
const char *postconf_value(const struct postconf *postconf, const struct postconf_service *service,
                           const char *name) OD_MUST;

/* Searches a list of words and tables (type:name). Returns the word, else the first table's value, a new string; or
 * NULL. */
char *postconf_find(const struct postconf *postconf, const char *list, const char *key) OD_MUST;

/* Returns the first word of list, no table, that postconf_find() finds in other: a new string or NULL. */
char *postconf_shared(const struct postconf *postconf, const char *list, const char *other) OD_MUST;

#endif
