/* SPDX-License-Identifier: ISC
 *
 * The debug log: the dialogue with the IMAP server, and the SQL steps. All of them at log.level = debug; otherwise those that
 * concern the accounts in log.debug_accounts. Lines are logged as level debug, whatever log.level is.
 *
 * Callers test debug_imap or debug_sql first, so that the debug log costs nothing else when it is off. */
#ifndef ONCEDROP_DEBUG_H
#define ONCEDROP_DEBUG_H

#include "base/base.h"

/* Set by this module only. */
extern bool debug_imap_on; /* dialogues may be logged: of all accounts, or of some */
extern bool debug_sql_on;  /* steps are logged */

static inline bool debug_imap(void)
{
    return __builtin_expect(debug_imap_on, false);
}

static inline bool debug_sql(void)
{
    return __builtin_expect(debug_sql_on, false);
}

/* To be called after log_open: at level debug everything is logged.
 *
 * accounts  log.debug_accounts: accounts and addresses, separated by commas or blanks */
void debug_open(const char *accounts);

/* A delivery begins: the next lines begin with its queue id (NULL: unknown). */
void debug_begin(const char *queue_id);

/* The delivery is for this address, or (not NULL) account. If one of them is in log.debug_accounts, the delivery's steps and
 * the account's dialogue are logged until debug_end. May be called again when the account of an address is known. */
void debug_concerns(const char *address, const char *account);

/* The delivery is over. */
void debug_end(void);

/* Whether the dialogue of this account is logged. */
bool debug_account(const char *account) OD_MUST;

/* Logs a line. The caller escapes text of others by log_escape_text, so that no line looks like a recipient's. */
void debug_line(const char *format, ...) OD_PRINTF(1, 2);

#endif
