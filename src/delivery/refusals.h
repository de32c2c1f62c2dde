/* SPDX-License-Identifier: ISC
 *
 * Accounts whose login an IMAP server refused, and when they are tried again.
 *
 * A refused login costs more than itself: Dovecot counts them by the client's address, and makes all later logins from
 * there wait; providers lock accounts. So an account that was refused is not tried with each message, nor with each retry.
 *
 * The rule. After a refusal the account is not tried for a minute, twice as long after each one that follows, up to half an
 * hour. A login that succeeds ends this. Meanwhile its mail is deferred, never returned. Exceptions:
 *
 * - Up to REFUSALS_DOUBT_MS only, unless another login with this server succeeded within that time in this process. Else
 *   what is wrong may be the password that opens all accounts; they are to be tried soon after it is mended.
 * - It ends when imap.password_file has another password. Four bits of a hash of that are in the record's name: too few to
 *   guess it by; one change in sixteen goes unnoticed.
 * - An uncertain refusal counts from the second on, and up to REFUSALS_DOUBT_MS. It may be trouble of the server's
 *   (MAILBOX_CROWDED: the connection was closed, or [UNAVAILABLE], which Dovecot also says of accounts that do not exist),
 *   or imap.password_command may have another password or token by then.
 * - [LIMIT], [INUSE], a silent server or one that cannot be reached: never. Nor where one login opens all accounts.
 * - A refusal that is older than a day, or in the future since a clock was set back, does not count.
 *
 * A process remembers what it saw, and what it read in the ledger, by which all processes and hosts know. */
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

/* Whether the account is not to be tried now; then the fault is set: since when, why, and until when. */
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
