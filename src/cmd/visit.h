/* SPDX-License-Identifier: ISC
 *
 * Visits to mailboxes, for commands that search them. However many messages are searched for, each account costs one login, even
 * if it fails. */
#ifndef ONCEDROP_VISIT_H
#define ONCEDROP_VISIT_H

#include "cmd/cmd.h"
#include "mailbox/mailbox.h"

/* Looks for something in a session; the fault is empty when it is called. */
typedef enum search_result visit_look(void *context, struct mailbox *mailbox, struct fault *fault);

/* Calls `look` with the account's session, which is kept for the next call. If a kept session was lost, calls it again
 * with a new one. server: of the command's configuration (config_server).
 *
 * Returns the result of `look`, with its fault, which may be empty. SEARCH_TROUBLE also if no session can be opened. Then none is
 * tried again for this account, or, if the server cannot be reached or has one login for all, for any of its accounts. */
enum search_result visit_mailbox(struct cmd *cmd, const struct config *server, const char *account, visit_look *look,
                                 void *context, struct fault *fault) OD_MUST;

/* Lets accounts and servers be tried again whose sessions could not be opened. For a command that waits for a change. */
void visits_forget_failures(struct cmd *cmd);

/* Ends the sessions; to be called when the command ends. */
void visits_end(struct visits **visits);

#endif
