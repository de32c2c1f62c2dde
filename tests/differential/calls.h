/* SPDX-License-Identifier: ISC
 *
 * The calls of a player, with arguments chosen by the dice. */
#ifndef ONCEDROP_DIFFERENTIAL_CALLS_H
#define ONCEDROP_DIFFERENTIAL_CALLS_H

#include "differential/history.h"

/* Draws a message, claims it if it is new, if tried and possible, and otherwise looks at it. */
void calls_begin(struct history *history, struct player *player, struct dice *dice);
void calls_leave(struct history *history, struct player *player);
void calls_claim(struct history *history, struct player *player, struct dice *dice);
void calls_hold(struct history *history, struct player *player);
void calls_settle(struct history *history, struct player *player, struct dice *dice);
void calls_abandon(struct history *history, struct player *player, struct dice *dice);

/* It forgets its delivery. */
void calls_forget(struct player *player);

#endif
