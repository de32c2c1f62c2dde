/* SPDX-License-Identifier: ISC
 *
 * What a delivery does about accounts whose login was refused (refusals.h). */
#ifndef ONCEDROP_REFUSED_H
#define ONCEDROP_REFUSED_H

#include "delivery/work.h"

/* Before ledger_look: asks it for the records of those accounts whose session would have to be opened. */
void refused_ask(struct delivery_work *work);

/* After ledger_look: passes what was found to the sessions, for sessions_take. */
void refused_learn(struct delivery_work *work);

/* Before there is a message: returns true with the fault set if the account must not be tried now. Tries no login itself.
 * config: of the account's server. */
bool refused_now(struct ledger *ledger, struct sessions *sessions, const struct config *config, const char *account,
                 struct fault *fault) OD_MUST;

#endif
