/* SPDX-License-Identifier: ISC
 *
 * Verifies copies: show --verify and list --missing. */
#ifndef ONCEDROP_VERIFY_COPY_H
#define ONCEDROP_VERIFY_COPY_H

#include "cmd/cmd.h"
#include "ledger/ledger_query.h"

#define VERIFY_COPY 2 /* the column, and its values: */
#define VERIFY_PRESENT "present"
#define VERIFY_MISSING "missing"
#define VERIFY_UNKNOWN "unknown"

/* Verifies the copies of a message, a row of ledger_find_messages's result, as replay --verify does; reports only what
 * is certain. Root becomes service.user for good. Precondition: the ledger is connected.
 *
 * Returns rows of account, mailbox, copy, uid, and reason (of the failure, or how the copy differs). Returns NULL with
 * the command's error set if the ledger does not reply, or root cannot become that user. */
struct sql_rows *verify_options(struct cmd *cmd, const struct sql_rows *messages, size_t row) OD_MUST;

/* Like verify_options(), but only for copies stored in this mailbox; perhaps none. */
struct sql_rows *verify_copy(struct cmd *cmd, const struct sql_rows *messages, size_t row, const char *account,
                             const char *mailbox) OD_MUST;

#endif
