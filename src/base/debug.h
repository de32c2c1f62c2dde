/* SPDX-License-Identifier: ISC
 *
 * The debug log: IMAP dialogue and SQL steps, of all accounts at log.level = debug, else of log.debug_accounts. Its
 * lines ignore log.level. Callers test debug_imap or debug_sql first: if off, nothing else is computed. */
#ifndef ONCEDROP_DEBUG_H
#define ONCEDROP_DEBUG_H

#include "base/base.h"

/* Set by debug.c only. */
extern bool debug_imap; /* of some accounts or all */
extern bool debug_sql;

/* Call it after log_open. accounts: log.debug_accounts. */
void debug_open(const char *accounts);

/* Begins a delivery; its lines begin with queue_id, if known. */
void debug_begin(const char *queue_id);

/* If log.debug_accounts has this address or account (NULL: unknown), logs the delivery's steps and the account's
 * dialogue until debug_end. Call it again when the account is known. */
void debug_concerns(const char *address, const char *account);

void debug_end(void);

/* Returns true if its dialogue is logged. */
bool debug_account(const char *account) OD_MUST;

/* Logs a line. Escape foreign text by log_escape_text: no line may look like a recipient's. */
void debug_line(const char *format, ...) OD_PRINTF(1, 2);

#endif
