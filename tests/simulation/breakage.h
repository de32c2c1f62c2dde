/* SPDX-License-Identifier: ISC
 *
 * The protocol broken in one way: the switches of tests/model that must give a counterexample, and some more. Each is
 * checked where it applies, or wraps a function of src/delivery (ld --wrap). */
#ifndef ONCEDROP_SIMULATION_BREAKAGE_H
#define ONCEDROP_SIMULATION_BREAKAGE_H

#include "base/base.h"

enum breakage {
    BREAK_NOTHING,
    BREAK_NO_HOLD_OFF,
    BREAK_NO_DEADLINE,
    BREAK_LATER_THAN_HOLD_OFF,
    BREAK_NO_SEARCH,
    BREAK_DOUBT_CLEARED_BY_REFUSAL,
    BREAK_ANY_NO_IS_CERTAIN,
    BREAK_UNDO_CLEARS_DOUBT,
    BREAK_UNDO_BY_NUMBER,
    BREAK_CLAIM_BLINDLY,
    BREAK_SETTLE_BLINDLY,
    BREAK_COMMIT_UNCHECKED,
    BREAK_SETTLE_UNCHECKED,
    BREAK_NEVER_OVER,
    BREAK_NO_OWNER,
    BREAK_FIRST_WAITS,
    BREAK_WAITS_AFTER_HOLD,
    BREAK_NO_DOUBT_OF_THE_CUT_OFF,
    BREAK_FAILED_SEARCH_IS_ABSENT,
    BREAK_MISS_IS_BELIEVED,
    BREAK_LOST_IS_STORED,
    BREAK_VARIANT_IS_DUPLICATE,
    BREAK_VARIANTS_UNSEEN,
    BREAK_HOLD_UNCHECKED,
    BREAK_TROUBLE_BOUNCES,
    BREAK_DATE_OF_THIS_TRY,
    BREAK_FED_BEFORE_HOLD,
    BREAK_INCOMPLETE_IS_STORED,
    BREAK_FED_IS_RETRIED,
    BREAK_EXPLANATION_UNSOUGHT,
    BREAK_REFUSAL_TRUSTED,
    BREAK_EXPLANATION_BOUNCES,
    BREAK_FALLBACK_UNFENCED,
    BREAK_FALLBACK_UNFENCED_WITHIN,
    BREAK_FALLBACK_UNSOUGHT,
    BREAK_FALLBACK_FORGOTTEN,
    BREAK_JUMP_ON_A_HOST,
    BREAK_JUMP_WHILE_OFF,
    BREAK_JUMP_BETWEEN_HOSTS,
    BREAK_CLAIM_FROM_THE_FUTURE,
    BREAK_GUARD_UNCHECKED,
    BREAK_FEED_UNSTORED,
    BREAK_FEED_AGAIN,
    BREAKAGES,
};

extern enum breakage breakage;

struct breakage_row {
    const char *name, *meaning;
    bool leases; /* what it breaks matters to them alone: only they can be lost while a delivery goes on */
};

/* All except BREAK_NOTHING. */
extern const struct breakage_row breakages[BREAKAGES];

/* Selects one by name; false: there is none. */
bool breakage_set(const char *name) OD_MUST;

#endif
