/* SPDX-License-Identifier: ISC
 *
 * list --missing: of the copies that are listed, those that are in their mailboxes no more. */
#ifndef ONCEDROP_LIST_MISSING_H
#define ONCEDROP_LIST_MISSING_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

/* Looks for each copy, as show_look does, and removes from the table all that are not certainly missing. Of messages with the
 * same Message-ID in the same mailbox all are missing if one is.
 *
 * table        the result of ledger_list
 * *ret_untold  of how many it cannot be told
 *
 * False with the command's fault set if the ledger does not answer, or root cannot become service.user; then the table is of
 * no use. */
bool list_missing(struct cmd *cmd, struct ledger_table *table, size_t *ret_untold) OD_MUST;

#endif
