/* SPDX-License-Identifier: ISC
 *
 * Names, finds and creates mailboxes. Functions that fail set the error. */
#ifndef ONCEDROP_MAILBOX_FOLDER_H
#define ONCEDROP_MAILBOX_FOLDER_H

#include "mailbox/mailbox_session.h"

/* Returns a new string: the name to send, in modified UTF-7, quoted, with namespace and \Sent resolved. The functions
 * below take such names. Fails without a response, or if no such mailbox can exist. */
char *mailbox_folder_name(struct mailbox *mailbox, const char *name, struct error *error) OD_MUST;

/* Asks LIST. Returns false without a response. */
bool mailbox_folder_exists(struct imap *imap, const char *name, bool *ret_exists, struct error *error) OD_MUST;

/* Returns a new string: the pattern for LIST, with '*' for characters that are special there, or that a server
 * misunderstands; ascii: also for modified UTF-7. */
char *mailbox_folder_pattern(const char *name, bool ascii) OD_MUST;

/* Returns true if the response to LIST means this mailbox: the pattern may match others. */
bool mailbox_folder_is_listed(const struct reply_list *list, const char *name, bool ascii) OD_MUST;

enum mailbox_created {
    CREATE_ERROR,      /* not created, or unknown */
    CREATE_IMPOSSIBLE, /* name, rights or imap.create forbid it: a retry does not help */
    CREATE_EXISTS,     /* not by us */
    CREATE_DONE,
};

/* mailbox_create.c: sends CREATE, if the settings allow it. Never creates an INBOX, or anything in an account without
 * one: servers may accept logins of nonexistent accounts. owners: `home` of struct append; this inbox counts as
 * CREATE_EXISTS. */
enum mailbox_created mailbox_create(struct mailbox *mailbox, const char *name, const char *owners,
                                    struct error *error) OD_MUST;

/* Sends SUBSCRIBE, if the settings allow it; also after another delivery's CREATE: that process may have died. Logs a
 * failure. */
void mailbox_subscribe(struct mailbox *mailbox, const char *name);

#endif
