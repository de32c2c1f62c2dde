/* SPDX-License-Identifier: ISC
 *
 * list --missing: the listed copies that are missing from their mailboxes. */
#ifndef ONCEDROP_LIST_MISSING_H
#define ONCEDROP_LIST_MISSING_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

/* Searches for each copy as show_look() does, and removes all rows from the table whose copy is not certainly missing.
 * If one message is missing, so are all with its Message-ID in that mailbox.
 *
 * table        ledger_list's result
 * *ret_untold  number of copies whose state is unknown
 *
 * Returns false with the command's error set if the ledger does not reply or root cannot become service.user; the table
 * is then useless. */
bool list_missing(struct cmd *cmd, struct ledger_table *table, size_t *ret_untold) OD_MUST;

#endif
