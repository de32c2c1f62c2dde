/* SPDX-License-Identifier: ISC
 *
 * show --look and list --missing: verify that a message's copies are in their mailboxes. */
#ifndef ONCEDROP_SHOW_LOOK_H
#define ONCEDROP_SHOW_LOOK_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

#define SHOW_LOOK_COPY 2 /* the column, and its values: */
#define SHOW_LOOK_THERE "there"
#define SHOW_LOOK_ABSENT "not there"
#define SHOW_LOOK_UNTOLD "cannot be told"

/* Searches the mailbox of each copy as replay --verify does, and reports only what is certain. Root becomes
 * service.user for good before the first search. Precondition: the ledger is connected.
 *
 * messages  ledger_find_messages's result; row: the message
 *
 * Returns a row for each copy: account, mailbox, copy (SHOW_LOOK_*), uid, and reason (of the failure, or how the stored
 * copy differs). Returns NULL with the command's error set if the ledger does not reply, or root cannot become that
 * user. */
struct ledger_table *show_look(struct cmd *cmd, const struct ledger_table *messages, size_t row) OD_MUST;

/* Like show_look(), but only for copies stored in this mailbox of this account; there may be none. */
struct ledger_table *show_look_in(struct cmd *cmd, const struct ledger_table *messages, size_t row, const char *account,
                                  const char *mailbox) OD_MUST;

#endif
