/* SPDX-License-Identifier: ISC
 *
 * IMAP sessions for commands that search mailboxes. Each account costs one login, even if it fails, for all
 * messages. */
#ifndef ONCEDROP_VISIT_H
#define ONCEDROP_VISIT_H

#include "cmd/cmd.h"
#include "mailbox/mailbox.h"

/* Searches in a session. The error is empty at the call. */
typedef enum search_result visit_look(void *context, struct mailbox *mailbox, struct fault *fault);

/* Calls `look` with the account's session, which is kept for the next call. If a reused session was lost, calls it
 * again with a new one. server: of the command's configuration (config_server).
 *
 * Returns look's result with its error, which may be empty. Returns SEARCH_TROUBLE also if no session can be opened;
 * then later calls fail at once for this account or, if the server is unreachable or has one login for all, for all its
 * accounts. */
enum search_result visit_mailbox(struct cmd *cmd, const struct config *server, const char *account, visit_look *look,
                                 void *context, struct fault *fault) OD_MUST;

/* Lets failed accounts and servers be tried again, for a command that waits for a change. */
void visits_forget_failures(struct cmd *cmd);

/* Closes the sessions. Call it when the command ends. */
void visits_end(struct visits **visits);

#endif
