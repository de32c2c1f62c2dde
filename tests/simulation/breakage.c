/* SPDX-License-Identifier: ISC
 *
 * The wrapped functions, and the names of the breakages. */
#include "breakage.h"

#include <string.h>

enum breakage breakage;

const struct breakage_row breakages[BREAKAGES] = {
    [BREAK_NO_HOLD_OFF] = {"NO_HOLD_OFF", "claims of dead deliveries are taken over at once"},
    [BREAK_NO_DEADLINE] = {"NO_DEADLINE", "a delivery may be alive when the hold-off of its claim is over"},
    [BREAK_LATER_THAN_HOLD_OFF] = {"LATER_THAN_HOLD_OFF",
                                   "a server stores what it has received later than the hold-off"},
    [BREAK_NO_SEARCH] = {"NO_SEARCH", "in doubt, the message is appended without looking for it"},
    [BREAK_DOUBT_CLEARED_BY_REFUSAL] = {"DOUBT_CLEARED_BY_REFUSAL",
                                        "a definite failure clears the doubt, though nobody has looked"},
    [BREAK_ANY_NO_IS_CERTAIN] = {"ANY_NO_IS_CERTAIN", "any NO to an APPEND is taken for: not stored"},
    [BREAK_UNDO_CLEARS_DOUBT] = {"UNDO_CLEARS_DOUBT", "undoing a claim clears the doubt that was there before"},
    [BREAK_UNDO_BY_NUMBER] = {"UNDO_BY_NUMBER", "a claim whose COMMIT was lost is undone by its attempt number alone"},
    [BREAK_CLAIM_BLINDLY] = {"CLAIM_BLINDLY",
                             "under different keys, a claim does not ask whether the row is as it was read"},
    [BREAK_SETTLE_BLINDLY] = {"SETTLE_BLINDLY", "settling does not ask whether the attempt is still its own"},
    [BREAK_COMMIT_UNCHECKED] = {"COMMIT_UNCHECKED",
                                "the message is appended though the claim's COMMIT was not answered"},
    [BREAK_SETTLE_UNCHECKED] = {"SETTLE_UNCHECKED", "success is said though settling failed"},
    [BREAK_NEVER_OVER] = {"NEVER_OVER", "a hold-off never ends"},
    [BREAK_NO_OWNER] = {"NO_OWNER", "nobody retries a Sent copy that is claimed and not settled"},
    [BREAK_FIRST_WAITS] = {"FIRST_WAITS", "the first recipient waits for Sent, not the one that claimed it"},
    [BREAK_WAITS_AFTER_HOLD] = {"WAITS_AFTER_HOLD", "a Sent copy that is waited for is forgotten when the hold fails"},
    [BREAK_NO_DOUBT_OF_THE_CUT_OFF] = {"NO_DOUBT_OF_THE_CUT_OFF",
                                       "a claim that takes over a cut-off one does not search"},
    [BREAK_FAILED_SEARCH_IS_ABSENT] = {"FAILED_SEARCH_IS_ABSENT",
                                       "a search that failed is taken for one that found nothing"},
    [BREAK_MISS_IS_BELIEVED] = {"MISS_IS_BELIEVED", "what a search by text does not find is absent"},
    [BREAK_LOST_IS_STORED] = {"LOST_IS_STORED", "a lost connection behind the literal is taken for stored"},
    [BREAK_VARIANT_IS_DUPLICATE] = {"VARIANT_IS_DUPLICATE", "another content with the Message-ID is a duplicate"},
    [BREAK_VARIANTS_UNSEEN] = {"VARIANTS_UNSEEN", "a Sent copy under way for another content is not seen"},
    [BREAK_HOLD_UNCHECKED] = {"HOLD_UNCHECKED", "the hold does not count the copies that are still ours", true},
    [BREAK_TROUBLE_BOUNCES] = {"TROUBLE_BOUNCES", "trouble with IMAP is told for good"},
    [BREAK_DATE_OF_THIS_TRY] = {"DATE_OF_THIS_TRY",
                                "a copy is looked for by this host's clock, not by the recorded date"},
    [BREAK_FED_BEFORE_HOLD] = {"FED_BEFORE_HOLD", "the message itself is sent while the claim is being committed"},
    [BREAK_INCOMPLETE_IS_STORED] = {"INCOMPLETE_IS_STORED", "a server stores a message whose last byte it lacks"},
    [BREAK_EXPLANATION_UNSOUGHT] = {"EXPLANATION_UNSOUGHT", "in doubt, nobody looks for the explanation of a message"},
    [BREAK_REFUSAL_TRUSTED] = {"REFUSAL_TRUSTED",
                               "an explanation is appended without looking whether the refused message was stored"},
    [BREAK_EXPLANATION_BOUNCES] = {"EXPLANATION_BOUNCES", "a refused explanation bounces the message"},
    [BREAK_FALLBACK_UNFENCED] = {"FALLBACK_UNFENCED",
                                 "a copy falls back to the inbox while another delivery's may still come there"},
    [BREAK_FALLBACK_UNFENCED_WITHIN] =
        {"FALLBACK_UNFENCED_WITHIN", "a copy falls back to the inbox while this delivery's own may still come there"},
    [BREAK_FALLBACK_UNSOUGHT] = {"FALLBACK_UNSOUGHT",
                                 "a copy falls back to the inbox without looking for the one there"},
    [BREAK_FALLBACK_FORGOTTEN] = {"FALLBACK_FORGOTTEN", "in doubt, a folder's copy is not looked for in the inbox"},
    [BREAK_JUMP_ON_A_HOST] = {"JUMP_ON_A_HOST", "a claim's age is not told by how long its machine has run since"},
    [BREAK_JUMP_WHILE_OFF] = {"JUMP_WHILE_OFF", "nor by how long it has run since it was started again"},
    [BREAK_JUMP_BETWEEN_HOSTS] = {"JUMP_BETWEEN_HOSTS", "a claim's age is not told by the hosts' clocks"},
    [BREAK_CLAIM_FROM_THE_FUTURE] = {"CLAIM_FROM_THE_FUTURE",
                                     "a claim that was made while the clock was ahead waits until that time"},
    [BREAK_GUARD_UNCHECKED] = {"GUARD_UNCHECKED", "a message is claimed as new without a look whether it is known"},
    [BREAK_FEED_UNSTORED] = {"FEED_UNSTORED", "a feed gets a copy whenever it is settled"},
    [BREAK_FEED_AGAIN] = {"FEED_AGAIN", "a feed gets a copy again when it is stored again on purpose"},
    [BREAK_FED_IS_RETRIED] = {"FED_IS_RETRIED", "a kept session lost behind the literal is taken for one lost before"},
};

bool breakage_set(const char *name)
{
    for (int i = BREAK_NOTHING + 1; i < BREAKAGES; i++)
        if (strcmp(breakages[i].name, name) == 0) {
            breakage = (enum breakage)i;
            return true;
        }
    return false;
}
