/* SPDX-License-Identifier: ISC
 *
 * Login backoff, shared by all hosts: accounts whose login a server refused. delivery/login_backoff.h decides when to try
 * again. */
#ifndef ONCEDROP_LEDGER_REFUSAL_H
#define ONCEDROP_LEDGER_REFUSAL_H

#include "ledger/ledger.h"

#define LEDGER_REFUSAL_DAY_MS (24 * INT64_C(3600000)) /* how long a record counts */

/* Returns the id of a record, a new string. server: name_server() in login_backoff.c. */
char *ledger_refusal_id(const char *server, const char *account) OD_MUST;

/* Reads the record, outside of a transaction; zeroed if there is none. */
bool ledger_refusal_read(struct ledger *ledger, const char *id, struct ledger_refusal *ret,
                         struct error *error) OD_MUST;

/* Records a login refused just now; ignores refusal->age_ms. */
bool ledger_refusal_record(struct ledger *ledger, const char *server, const char *account,
                           const struct ledger_refusal *refusal, struct error *error) OD_MUST;

/* Records that the login succeeded. */
bool ledger_refusal_forget(struct ledger *ledger, const char *id, struct error *error) OD_MUST;

/* Adds a query for the records that the targets name; false: none. */
bool ledger_add_refusals(struct ledger *ledger, const struct ledger_message *message) OD_MUST;

/* Copies the rows of that query to found->copies. */
struct sql_rows;
void ledger_take_refusals(const struct ledger_message *message, const struct sql_rows *rows,
                          struct ledger_state *found);

#endif
