/* SPDX-License-Identifier: ISC
 *
 * Login backoff: when an account whose login was refused is tried again.
 *
 * After a refused login the account is not tried for a minute, twice as long after each further refusal, up to half an
 * hour: Dovecot delays later logins, providers lock accounts. Its mail is deferred. Exceptions:
 *
 * - The wait is at most LOGIN_BACKOFF_UNCERTAIN_MS, unless this process opened another session with the server within that time:
 *   the password of all accounts may be wrong, and soon be corrected.
 * - A new imap.password_file ends it: the record's name contains the file's time.
 * - MAILBOX_TOO_MANY_SESSIONS (connection closed; [UNAVAILABLE], which Dovecot sends for unknown accounts, too) and refusals with
 *   imap.password_command, whose output may change, count from the second on, for at most LOGIN_BACKOFF_UNCERTAIN_MS.
 * - [LIMIT], [INUSE], timeouts and unreachable servers never count, nor any refusal if one login opens all accounts.
 * - Refusals older than a day, or in the future (a clock was set back), do not count.
 *
 * A process caches refusals; the ledger shares them. */
#ifndef ONCEDROP_LOGIN_BACKOFF_H
#define ONCEDROP_LOGIN_BACKOFF_H

#include "base/config.h"
#include "ledger/ledger.h"

#define LOGIN_BACKOFF_FIRST_MS INT64_C(60000)
#define LOGIN_BACKOFF_UNCERTAIN_MS INT64_C(300000)
#define LOGIN_BACKOFF_MAX_MS INT64_C(1800000)

struct refusals;

struct refusals *login_backoff_new(void) OD_MUST;
void login_backoff_free(struct refusals **refusals);

/* Returns a new string: ledger_refusal_id() of the account. */
char *login_backoff_id(const struct config *config, const char *account) OD_MUST;

/* Returns true if the account must not be tried now; the error says why. */
bool login_backoff_active(const struct refusals *refusals, const struct config *config, const char *account,
                          struct error *error) OD_MUST;

void login_backoff_succeeded(struct refusals *refusals, const struct config *config, const char *account);

/* Records an error of mailbox_open(). others_open: another login succeeded within LOGIN_BACKOFF_UNCERTAIN_MS. */
void login_backoff_failed(struct refusals *refusals, const struct config *config, const char *account, bool others_open,
                          const struct error *why);

/* Caches the ledger's record. */
void login_backoff_learn(struct refusals *refusals, const struct config *config, const char *account,
                         const struct ledger_refusal *known);

/* Writes changes to the ledger, which must not be in a transaction, and logs failures. With less than least_left_ms
 * before the deadline, leaves them to the next call. */
void login_backoff_record(struct refusals *refusals, struct ledger *ledger, int64_t least_left_ms);

#endif
