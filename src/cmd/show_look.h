/* SPDX-License-Identifier: ISC
 *
 * Verifies copies: show --look and list --missing. */
#ifndef ONCEDROP_SHOW_LOOK_H
#define ONCEDROP_SHOW_LOOK_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

#define SHOW_LOOK_COPY 2 /* the column, and its values: */
#define SHOW_LOOK_THERE "there"
#define SHOW_LOOK_ABSENT "not there"
#define SHOW_LOOK_UNTOLD "cannot be told"

/* Verifies the copies of a message, a row of ledger_find_messages's result, as replay --verify does; reports only what
 * is certain. Root becomes service.user for good. Precondition: the ledger is connected.
 *
 * Returns rows of account, mailbox, copy, uid, and reason (of the failure, or how the copy differs). Returns NULL with
 * the command's error set if the ledger does not reply, or root cannot become that user. */
struct ledger_table *show_look(struct cmd *cmd, const struct ledger_table *messages, size_t row) OD_MUST;

/* Like show_look(), but only for copies stored in this mailbox; perhaps none. */
struct ledger_table *show_look_in(struct cmd *cmd, const struct ledger_table *messages, size_t row, const char *account,
                                  const char *mailbox) OD_MUST;

#endif
