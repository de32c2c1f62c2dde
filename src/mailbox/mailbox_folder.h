/* SPDX-License-Identifier: ISC
 *
 * Mailboxes on the server: their names as they are sent, whether they exist, and making them. */
#ifndef ONCEDROP_MAILBOX_FOLDER_H
#define ONCEDROP_MAILBOX_FOLDER_H

#include "mailbox/mailbox_session.h"

/* The name to send for a configured one (\Sent resolved, modified UTF-7, namespace, quoted); a new string. NULL with the
 * fault set if the server does not tell, or there can be no such mailbox. The functions below take such a name. */
char *mailbox_folder_name(struct mailbox *mailbox, const char *name, struct fault *fault) OD_MUST;

/* Whether a mailbox exists, as LIST tells. False with the fault set if there was no answer, else sets *ret_exists. */
bool mailbox_folder_exists(struct imap *imap, const char *name, bool *ret_exists, struct fault *fault) OD_MUST;

/* The pattern with which LIST looks for it: '*' stands for characters that mean something else in a pattern, or that some
 * server misunderstands; ascii: also for what is in modified UTF-7. A new string. */
char *mailbox_folder_pattern(const char *name, bool ascii) OD_MUST;

/* Whether this answer to LIST with that pattern means the mailbox: it may match others, too. */
bool mailbox_folder_is_listed(const struct reply_list *list, const char *name, bool ascii) OD_MUST;

enum mailbox_made {
    MADE_TROUBLE, /* not made, or not known; the fault says why */
    MADE_NEVER, /* not made, and trying again does not help: the name, our rights or imap.create forbid it; fault set */
    MADE_EXISTS, /* not by us: it is there now */
    MADE_CREATED,
};

/* mailbox_create.c: CREATE, if the settings allow it. Never creates an INBOX, or anything in an account without one: some
 * servers accept the login of an account that does not exist.
 *
 * owners  config_is_shared: as in struct append `home`; that inbox itself counts as MADE_EXISTS */
enum mailbox_made mailbox_create(struct mailbox *mailbox, const char *name, const char *owners,
                                 struct fault *fault) OD_MUST;

/* SUBSCRIBE, if the settings allow it; a failure is logged. Also for a mailbox that another delivery has created: that one
 * may not get as far as this. */
void mailbox_subscribe(struct mailbox *mailbox, const char *name);

#endif
