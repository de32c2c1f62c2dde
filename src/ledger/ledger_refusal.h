/* SPDX-License-Identifier: ISC
 *
 * What all hosts know of accounts whose login an IMAP server refused. When such an account is tried again is decided in
 * delivery/refusals.h. */
#ifndef ONCEDROP_LEDGER_REFUSAL_H
#define ONCEDROP_LEDGER_REFUSAL_H

#include "ledger/ledger.h"

#define LEDGER_REFUSAL_DAY_MS (24 * INT64_C(3600000)) /* after that a record does not count, and purge deletes it */

/* A new string: the id of the record of this account with this server (refusals_server). */
char *ledger_refusal_id(const char *server, const char *account) OD_MUST;

/* Reads the record. *ret: zeroed if there is none. Must be called outside of a transaction. False with the fault set on
 * trouble. */
bool ledger_refusal_read(struct ledger *ledger, const char *id, struct ledger_refusal *ret,
                         struct fault *fault) OD_MUST;

/* Records that the login was refused just now; refusal->age_ms does not count. False with the fault set on trouble. */
bool ledger_refusal_record(struct ledger *ledger, const char *server, const char *account,
                           const struct ledger_refusal *refusal, struct fault *fault) OD_MUST;

/* Records that the login succeeded. False with the fault set on trouble. */
bool ledger_refusal_forget(struct ledger *ledger, const char *id, struct fault *fault) OD_MUST;

/* Adds the read of the records that a message's targets name (ledger_target.refusal) to a batch; false: there are none. */
bool ledger_add_refusals(struct ledger *ledger, const struct ledger_message *message) OD_MUST;

/* Copies the rows of that step to what was found. */
struct sql_rows;
void ledger_take_refusals(const struct ledger_message *message, const struct sql_rows *rows,
                          struct ledger_found *found);

#endif
