/* SPDX-License-Identifier: ISC
 *
 * What `oncedrop check` says, and its steps, none of which can hang the others. */
#ifndef ONCEDROP_CHECK_REPORT_H
#define ONCEDROP_CHECK_REPORT_H

#include "base/config.h"

/* To be called first. json: one array at the end instead of a line for each item at once. colour: of the status. */
void check_begin(bool json, bool colour);

/* "ok" or "failed", the item's name, and a text that says what to do when it failed. An ok is left out behind a warning or
 * a failure of the same item, and a name that the text repeats is, too. Returns good. */
bool check_item(bool good, const char *name, const char *format, ...) OD_PRINTF(3, 4);

void check_warning(const char *name, const char *format, ...) OD_PRINTF(2, 3);

/* Memory, zeroed, that a step and its caller share. */
void *check_shared(size_t size) OD_MUST;

/* Runs a step in a process of its own that is ended after so many milliseconds: what it has reported by then stays, and
 * the item `name` fails with `late`. Only what it writes into check_shared is left of what it did. */
void check_step(const char *name, int64_t ms, const char *late, void (*run)(void *context), void *context);

/* Ends the report, with a line that counts its items unless it is JSON; returns the exit status: 1 when an item failed, else 0. */
int check_end(void) OD_MUST;

/* Where mail for an address goes. */
struct check_place {
    bool asked; /* an address was given, */
    bool known; /* and leads to an account */
    char account[1024], inbox[1024], sent[1024];
};

/* That of an account, with the mailboxes of the settings. */
struct check_place check_place_of(const struct config *config, const char *account) OD_MUST;

/* Looks at the IMAP server and, where a place is known, logs in for its account and looks for its mailboxes. fits: the
 * database takes a note of what is found. */
void check_imap(const struct config *config, const struct check_place *place, bool fits);

#endif
