/* SPDX-License-Identifier: ISC
 *
 * What a delivery does about accounts whose login was refused (refusals.h). */
#ifndef ONCEDROP_REFUSED_H
#define ONCEDROP_REFUSED_H

#include "delivery/work.h"

/* Before the look: the records of those accounts are asked for whose session would have to be opened. */
void refused_ask(struct delivery_work *work);

/* After it: takes over what was found, for sessions_take. */
void refused_learn(struct delivery_work *work);

/* For what is asked before there is a message: whether the account is not to be tried now (fault set), as far as this can be
 * told without a login. config: with its server. */
bool refused_now(struct ledger *ledger, struct sessions *sessions, const struct config *config, const char *account,
                 struct fault *fault) OD_MUST;

#endif
