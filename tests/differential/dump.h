/* SPDX-License-Identifier: ISC
 *
 * Prints a history. */
#ifndef ONCEDROP_DIFFERENTIAL_DUMP_H
#define ONCEDROP_DIFFERENTIAL_DUMP_H

#include "differential/history.h"

/* A line of this step. */
void dump(const struct history *history, const char *format, ...) OD_PRINTF(2, 3);
void dump_found(const struct history *history, const struct player *player);

/* "INBOX of a0", valid until the next call but one. */
const char *dump_target(const struct ledger_target *target) OD_MUST;

extern const char *const dump_states[];
extern const char *const dump_results[];

/* Each row that has changed since the last call. */
void dump_changes(struct history *history);

/* Claims are numbered in the order in which they occur. */
void dump_begin(void);

#endif
