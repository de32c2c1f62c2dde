/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_DELIVERY_BACKOFF_H
#define ONCEDROP_DELIVERY_BACKOFF_H

#include "delivery/delivery.h"

struct delivery_work;

/* Before ledger_read_state(): adds the records of accounts that need a login to its batch. */
void delivery_backoff_ask(struct delivery_work *work);

/* After ledger_read_state(): passes the records on, for sessions_acquire(). */
void delivery_backoff_learn(struct delivery_work *work);

/* Returns true with the error set if the account must not be tried now. Tries no login. */
bool delivery_backoff_now(struct ledger *ledger, struct sessions *sessions, const struct config *config,
                          const char *account, struct error *error) OD_MUST;

#endif
