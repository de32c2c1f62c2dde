/* SPDX-License-Identifier: ISC
 *
 * Are stored copies still in their mailboxes? For show --verify and list --missing, by delivery/presence.h: reports only what
 * is certain. Root becomes service.user for good. One login for each account, even if it fails. Precondition: the
 * ledger is connected. */
#ifndef ONCEDROP_VERIFY_COPY_H
#define ONCEDROP_VERIFY_COPY_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

/* Verifies the copies of a message, a row of ledger_find_messages's result.
 *
 * Returns rows of account, mailbox, copy, uid, and reason (of the failure, or how the copy differs). Returns NULL with
 * the command's error set if the ledger does not reply, or root cannot become that user. */
struct sql_rows *verify_message(struct cmd *cmd, const struct sql_rows *messages, size_t row) OD_MUST;

/* Verifies each row of ledger_list's table, and removes all that are not certainly missing. If one message is missing, so
 * are all with its Message-ID in that mailbox. *ret_unknown: number of unknown copies. Returns false, and the table is
 * useless, where verify_message() returns NULL. */
bool verify_list(struct cmd *cmd, struct sql_rows *table, size_t *ret_unknown) OD_MUST;

#endif
