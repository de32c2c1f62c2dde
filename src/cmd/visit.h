/* SPDX-License-Identifier: ISC
 *
 * Looking into mailboxes, for the commands that people use: however many messages are looked for, each account costs one login,
 * also if that fails. */
#ifndef ONCEDROP_VISIT_H
#define ONCEDROP_VISIT_H

#include "cmd/cmd.h"
#include "mailbox/mailbox.h"

/* Looks for something in a session; the fault is empty when it is called. */
typedef enum search_result visit_look(void *context, struct mailbox *mailbox, struct fault *fault);

/* Calls `look` with the account's session, which is kept for the next call; once more if it was kept and has been lost. The
 * server is one of the command's configuration (config_server).
 *
 * Returns what it returns, with its fault, which may be empty. SEARCH_TROUBLE also if there is no session; then none is opened
 * for this account any more, nor for any other of a server that cannot be reached, or that has one login for all. */
enum search_result visit_mailbox(struct cmd *cmd, const struct config *server, const char *account, visit_look *look,
                                 void *context, struct fault *fault) OD_MUST;

/* When the command ends: ends its sessions. */
void visits_end(struct visits **visits);

#endif
