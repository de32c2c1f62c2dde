/* SPDX-License-Identifier: ISC
 *
 * Differences between messages with the same Message-ID. */
#ifndef ONCEDROP_SHOW_DIFFERENCES_H
#define ONCEDROP_SHOW_DIFFERENCES_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

/* Compares recorded header fields and parts of a message, a row of ledger_find_messages's result, with the oldest one
 * of its Message-ID. Returns rows of what (a field, or "part 1.2"), first and this; none for the oldest itself. Returns
 * NULL with the command's error set if the ledger does not reply. */
struct sql_rows *show_differences(struct cmd *cmd, const struct sql_rows *messages, size_t row) OD_MUST;

#endif
