/* SPDX-License-Identifier: ISC
 *
 * show --look and list --missing: whether the copies of a message are still in their mailboxes. */
#ifndef ONCEDROP_SHOW_LOOK_H
#define ONCEDROP_SHOW_LOOK_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

#define SHOW_LOOK_COPY 2 /* the column, and what it says: */
#define SHOW_LOOK_THERE "there"
#define SHOW_LOOK_ABSENT "not there"
#define SHOW_LOOK_UNTOLD "cannot be told"

/* Searches the mailbox of each copy, as replay --verify does, and tells only what is certain. For root it becomes
 * service.user for good before the first search; the ledger must be connected by then.
 *
 * messages  the result of ledger_find_messages; row: the message
 *
 * Returns a row for each copy, with the columns account, mailbox, copy ("there", "not there", "cannot be told"), uid, and
 * reason (why not; or how it is there, if not as it came). NULL with the command's fault set if the ledger does not answer,
 * or root cannot become that user. */
struct ledger_table *show_look(struct cmd *cmd, const struct ledger_table *messages, size_t row) OD_MUST;

/* The same of the copies that are stored in one mailbox of one account, of which there may be none. */
struct ledger_table *show_look_in(struct cmd *cmd, const struct ledger_table *messages, size_t row, const char *account,
                                  const char *mailbox) OD_MUST;

#endif
