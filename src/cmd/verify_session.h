/* SPDX-License-Identifier: ISC
 *
 * IMAP sessions for searches: one login for each account, even if it fails. */
#ifndef ONCEDROP_VERIFY_SESSION_H
#define ONCEDROP_VERIFY_SESSION_H

#include "cmd/cmd.h"
#include "mailbox/mailbox.h"

/* The error is empty at the call. */
typedef enum search_result verify_session_function(void *context, struct mailbox *mailbox, struct error *error);

/* Calls `verify` with the account's session, which is kept; again with a new one if a reused session was lost. Returns
 * verify's result, with its error, which may be empty. Returns SEARCH_ERROR also if no session can be opened. Later
 * calls then fail at once for this account or, if the server is unreachable or has one login for all, for all its
 * accounts. */
enum search_result verify_session_run(struct cmd *cmd, const struct config *server, const char *account,
                                      verify_session_function *verify, void *context, struct error *error) OD_MUST;

/* Lets failed accounts and servers be retried. */
void verify_sessions_forget_failures(struct cmd *cmd);

/* Call at the command's end. */
void verify_sessions_end(struct verify_sessions **verify_sessions);

#endif
