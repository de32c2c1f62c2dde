/* SPDX-License-Identifier: ISC
 *
 * list --missing: copies missing from their mailboxes. */
#ifndef ONCEDROP_LIST_MISSING_H
#define ONCEDROP_LIST_MISSING_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

/* Verifies each row of ledger_list's table as verify_options() does, and removes all that are not certainly missing. If one
 * message is missing, so are all with its Message-ID in that mailbox. *ret_unknown: number of unknown copies. Returns
 * false with the command's error set, and the table useless, if the ledger does not reply or root cannot become
 * service.user. */
bool list_missing(struct cmd *cmd, struct sql_rows *table, size_t *ret_unknown) OD_MUST;

#endif
