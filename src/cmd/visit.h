/* SPDX-License-Identifier: ISC
 *
 * IMAP sessions for searches: one login for each account, even if it fails. */
#ifndef ONCEDROP_VISIT_H
#define ONCEDROP_VISIT_H

#include "cmd/cmd.h"
#include "mailbox/mailbox.h"

/* The error is empty at the call. */
typedef enum search_result visit_look(void *context, struct mailbox *mailbox, struct fault *fault);

/* Calls `look` with the account's session, which is kept; again with a new one if a reused session was lost. Returns
 * look's result, with its error, which may be empty. Returns SEARCH_TROUBLE also if no session can be opened. Later
 * calls then fail at once for this account or, if the server is unreachable or has one login for all, for all its
 * accounts. */
enum search_result visit_mailbox(struct cmd *cmd, const struct config *server, const char *account, visit_look *look,
                                 void *context, struct fault *fault) OD_MUST;

/* Lets failed accounts and servers be retried. */
void visits_forget_failures(struct cmd *cmd);

/* Call at the command's end. */
void visits_end(struct visits **visits);

#endif
