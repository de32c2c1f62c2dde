/* SPDX-License-Identifier: ISC
 *
 * In what messages with the same Message-ID differ. */
#ifndef ONCEDROP_SHOW_DIFFERENCES_H
#define ONCEDROP_SHOW_DIFFERENCES_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

/* Compares a message with the oldest one that has its Message-ID, as far as they are recorded: header fields, then parts, by
 * type, name and digest.
 *
 * messages  the result of ledger_find_messages; row: the message
 *
 * Returns a row for each difference, with the columns what (a field, or "part 1.2"), first and this. No rows: it is the
 * oldest itself, or nothing that is recorded differs. NULL with the command's fault set if the ledger does not answer. */
struct ledger_table *show_differences(struct cmd *cmd, const struct ledger_table *messages, size_t row) OD_MUST;

#endif
