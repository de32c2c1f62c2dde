/* SPDX-License-Identifier: ISC
 *
 * The differences between messages with the same Message-ID. */
#ifndef ONCEDROP_SHOW_DIFFERENCES_H
#define ONCEDROP_SHOW_DIFFERENCES_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

/* Compares what is recorded of a message and of the oldest one with its Message-ID: header fields, then parts, by type,
 * name and digest.
 *
 * messages  ledger_find_messages's result; row: the message
 *
 * Returns a row for each difference: what (a field, or "part 1.2"), first, and this; none for the oldest itself.
 * Returns NULL with the command's error set if the ledger does not reply. */
struct ledger_table *show_differences(struct cmd *cmd, const struct ledger_table *messages, size_t row) OD_MUST;

#endif
