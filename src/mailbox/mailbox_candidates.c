/* SPDX-License-Identifier: ISC
 *
 * What a search has found: most messages are others by their ids, which are little to read; the rest are fetched whole,
 * and compared. */
#include "mailbox/mailbox_candidates.h"

#include <string.h>

#include "mailbox/mailbox_fetch.h"

/* The result for a message. Without an answer nothing is known; without an id it is another message where the id
 * decides. */
static enum candidate result_for(const struct search *search, const struct mailbox_fetch *fetch, size_t i)
{
    if (!fetch->told[i])
        return CANDIDATE_SIMILAR;
    return search->by_id && fetch->candidates[i] == CANDIDATE_SIMILAR ? CANDIDATE_OTHER : fetch->candidates[i];
}

/* Fetches one candidate and compares it. False with the fault set: the result is unknown. */
static bool compare(struct imap *imap, const struct search *search, uint32_t uid, enum candidate *ret,
                    struct fault *fault)
{
    struct mailbox_fetch whole = {.count = 1, .uids = {uid}};
    const struct search_reader *reader = search->by_id ? &search->ids : &search->whole;
    if (!mailbox_fetch(imap, &whole, search->by_id ? "HEADER" : "", reader, fault))
        return false;
    if (!whole.told[0])
        fault_set(fault, "%s: UID FETCH of message %u returned nothing", imap->where, uid);
    *ret = result_for(search, &whole, 0);
    return whole.told[0];
}

struct best {
    enum candidate candidate;
    uint32_t uid;
};

/* Asks for their ids, perhaps, and compares them until one is the same. False with the fault set: the result is unknown. */
static bool compare_all(struct imap *imap, const struct search *search, bool ids_first, struct mailbox_fetch *ids,
                        struct best *best, struct fault *fault)
{
    if (ids_first && !mailbox_fetch(imap, ids, "HEADER.FIELDS (MESSAGE-ID)", &search->ids, fault))
        return false;
    for (size_t i = 0; i < ids->count && best->candidate != CANDIDATE_SAME; i++) {
        enum candidate candidate = result_for(search, ids, i);
        bool decided = candidate == CANDIDATE_OTHER || (search->by_id && candidate == CANDIDATE_SAME);
        if (!decided && !compare(imap, search, ids->uids[i], &candidate, fault))
            return false;
        if (candidate > best->candidate)
            *best = (struct best){candidate, ids->uids[i]};
    }
    return true;
}

static enum search_result result_of(const struct best *best, uint32_t *ret_uid)
{
    if (best->candidate == CANDIDATE_OTHER)
        return SEARCH_ABSENT;
    *ret_uid = best->uid;
    return SEARCH_FOUND;
}

enum search_result mailbox_candidates(struct imap *imap, const struct search *search, bool ids_first,
                                      const uint32_t *uids, size_t count, uint32_t *ret_uid, struct fault *fault)
{
    struct best best = {.candidate = CANDIDATE_OTHER};
    struct mailbox_fetch ids;
    for (size_t i = 0; i < count && best.candidate != CANDIDATE_SAME; i += ids.count) {
        ids = (struct mailbox_fetch){.count = count - i < FETCH_MOST ? count - i : FETCH_MOST};
        memcpy(ids.uids, uids + i, ids.count * sizeof(*uids));
        if (!compare_all(imap, search, ids_first && search->ids.feed != NULL, &ids, &best, fault))
            return SEARCH_TROUBLE;
    }
    return result_of(&best, ret_uid);
}

/* From the end of the mailbox on, some at a time. */
enum search_result mailbox_candidates_newest(struct imap *imap, const struct search *search, uint32_t exists,
                                             uint32_t *ret_uid, struct fault *fault)
{
    struct best best = {.candidate = CANDIDATE_OTHER};
    uint32_t least = exists > search->newest ? exists - search->newest + 1 : 1;
    for (uint32_t last = exists, first; best.candidate == CANDIDATE_OTHER && last >= least; last = first - 1) {
        first = last - least >= FETCH_MOST ? last - FETCH_MOST + 1 : least;
        struct mailbox_fetch ids = {.first = first, .count = last - first + 1};
        if (!compare_all(imap, search, true, &ids, &best, fault))
            return SEARCH_TROUBLE;
    }
    return result_of(&best, ret_uid);
}
