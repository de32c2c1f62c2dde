/* SPDX-License-Identifier: ISC
 *
 * Prints a history. */
#ifndef ONCEDROP_DIFFERENTIAL_TELL_H
#define ONCEDROP_DIFFERENTIAL_TELL_H

#include "differential/history.h"

/* A line of this step. */
void tell(const struct history *history, const char *format, ...) OD_PRINTF(2, 3);
void tell_found(const struct history *history, const struct player *player);

/* "INBOX of a0", valid until the next call but one. */
const char *tell_target(const struct ledger_target *target) OD_MUST;

extern const char *const tell_states[];
extern const char *const tell_results[];

/* Each row that has changed since the last call. */
void tell_changes(struct history *history);

/* Claims are numbered in the order in which they occur. */
void tell_begin(void);

#endif
