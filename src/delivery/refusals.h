/* SPDX-License-Identifier: ISC
 *
 * Accounts whose login an IMAP server refused, and when they are tried again.
 *
 * A refused login is expensive: Dovecot delays all later logins from the same client address, and providers lock accounts. So an
 * account that was refused is not tried with each message, nor with each retry.
 *
 * The rule. After a refusal the account is not tried for a minute; after each further one, for twice as long, up to half an hour.
 * A login that succeeds ends this. Meanwhile the account's mail is deferred, never bounced. Exceptions:
 *
 * - The wait is at most REFUSALS_DOUBT_MS, unless this process has opened another session with this server within that time.
 *   Otherwise the password that opens all accounts may be wrong, and they must be tried soon after it is corrected.
 * - A new password in imap.password_file ends it: the record's name contains the time when the file was written. So hosts whose
 *   files were written at different times have a record each.
 * - An uncertain refusal counts from the second on, and the wait is at most REFUSALS_DOUBT_MS. The server may have had trouble
 *   (MAILBOX_CROWDED: it closed the connection, or answered [UNAVAILABLE], as Dovecot also does for accounts that do not exist).
 *   Or imap.password_command may print another password or token by then.
 * - [LIMIT], [INUSE], and a server that does not respond or cannot be reached never count. Nor does any refusal if one login opens
 *   all accounts.
 * - A refusal does not count if it is older than a day, or in the future, since a clock was set back.
 *
 * A process remembers the refusals that it saw or read in the ledger, which all processes and hosts share. */
#ifndef ONCEDROP_REFUSALS_H
#define ONCEDROP_REFUSALS_H

#include "base/config.h"
#include "ledger/ledger.h"

#define REFUSALS_FIRST_MS INT64_C(60000)
#define REFUSALS_DOUBT_MS INT64_C(300000)
#define REFUSALS_LONGEST_MS INT64_C(1800000)

struct refusals;

struct refusals *refusals_new(void) OD_MUST;
void refusals_free(struct refusals **refusals);

/* Names the record of an account in the ledger: ledger_refusal_id of refusals_server. New strings. */
char *refusals_server(const struct config *config) OD_MUST;
char *refusals_id(const struct config *config, const char *account) OD_MUST;

/* Returns true if the account must not be tried now. Then the fault says since when, why, and until when. */
bool refusals_hold(const struct refusals *refusals, const struct config *config, const char *account,
                   struct fault *fault) OD_MUST;

/* A session was opened. */
void refusals_opened(struct refusals *refusals, const struct config *config, const char *account);

/* No session was opened, for this reason (mailbox_open). others_open: another login with the server succeeded within
 * REFUSALS_DOUBT_MS. */
void refusals_failed(struct refusals *refusals, const struct config *config, const char *account, bool others_open,
                     const struct fault *why);

/* Takes over what the ledger has of the account. */
void refusals_learn(struct refusals *refusals, const struct config *config, const char *account,
                    const struct ledger_refusal *known);

/* Writes to the ledger what was seen since the last call; the ledger must not be in a transaction. Failures are logged.
 *
 * least_left_ms  stops if the process has less time than this until its deadline; the next call goes on */
void refusals_record(struct refusals *refusals, struct ledger *ledger, int64_t least_left_ms);

#endif
