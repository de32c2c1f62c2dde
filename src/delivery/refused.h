/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_REFUSED_H
#define ONCEDROP_REFUSED_H

#include "delivery/work.h"

/* Before ledger_look(): adds the records of accounts that need a login to its batch. */
void refused_ask(struct delivery_work *work);

/* After ledger_look(): passes the records on, for sessions_take(). */
void refused_learn(struct delivery_work *work);

/* Returns true with the error set if the account must not be tried now. Tries no login. */
bool refused_now(struct ledger *ledger, struct sessions *sessions, const struct config *config, const char *account,
                 struct fault *fault) OD_MUST;

#endif
