/* SPDX-License-Identifier: ISC
 *
 * What a search has found: each message is fetched and compared. */
#include "mailbox/mailbox_session.h"

struct fetched {
    const struct search_reader *reader;
    uint32_t uid;
    bool fed;    /* with the body of the current response, ... */
    size_t size; /* ... so many bytes of it */
    bool told;
    enum candidate candidate;
};

static void feed_body(void *context, const void *bytes, size_t size)
{
    struct fetched *fetched = context;
    if (size == 0 && fetched->fed) /* a second body in one response: the last one counts */
        (void)!fetched->reader->end(fetched->reader->context);
    fetched->size = size > 0 ? fetched->size + size : 0;
    fetched->fed = true;
    if (size > 0)
        fetched->reader->feed(fetched->reader->context, bytes, size);
}

/* What is searched for has bytes, and what was found has as many as the search wanted: an empty body is a message that
 * cannot be read now, like NIL. */
static void note_fetched(void *context, struct mailbox_reply *reply)
{
    struct fetched *fetched = context;
    struct reply_fetch fetch;
    bool wanted = mailbox_reply_fetch(reply, &fetch) && fetch.uid == fetched->uid && fetch.body != NULL;
    if (wanted && fetch.body_size > 0) { /* not as a literal */
        feed_body(fetched, NULL, 0);
        feed_body(fetched, fetch.body, fetch.body_size);
    }
    enum candidate candidate = CANDIDATE_OTHER;
    if (fetched->fed || wanted)
        candidate = fetched->reader->end(fetched->reader->context);
    wanted &= fetched->size > 0;
    fetched->fed = false;
    fetched->size = 0;
    fetched->told |= wanted;
    if (wanted && candidate > fetched->candidate)
        fetched->candidate = candidate;
}

/* Fetches one candidate and compares it. False with the fault set: the result is unknown. */
static bool compare(struct mailbox *mailbox, const struct search *search, uint32_t uid, enum candidate *ret,
                    struct fault *fault)
{
    struct fetched fetched = {.reader = search->by_id ? &search->ids : &search->whole, .uid = uid};
    struct mailbox_reply reply;
    mailbox->body = feed_body;
    mailbox->body_context = &fetched;
    bool answered = mailbox_dialogue_ask(mailbox, "UID FETCH", note_fetched, &fetched, &reply, fault,
                                         "UID FETCH %u (UID BODY.PEEK[%s])", uid, search->by_id ? "HEADER" : "");
    mailbox->body = NULL;
    mailbox->body_context = NULL;
    *ret = search->by_id && fetched.candidate == CANDIDATE_SIMILAR ? CANDIDATE_OTHER : fetched.candidate;
    if (answered && !fetched.told)
        fault_set(fault, "%s: UID FETCH of message %u returned nothing", mailbox->where, uid);
    return answered && fetched.told;
}

struct best {
    enum candidate candidate;
    uint32_t uid;
};

/* Compares them until one is the same. False with the fault set: the result is unknown. */
static bool compare_all(struct mailbox *mailbox, const struct search *search, const struct mailbox_ids *ids,
                        struct best *best, struct fault *fault)
{
    for (size_t i = 0; i < ids->count && best->candidate != CANDIDATE_SAME; i++) {
        enum candidate candidate = ids->told[i];
        bool decided = candidate == CANDIDATE_OTHER || (search->by_id && candidate == CANDIDATE_SAME);
        if (!decided && !compare(mailbox, search, ids->uids[i], &candidate, fault))
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

enum search_result mailbox_candidates_of(struct mailbox *mailbox, const struct search *search,
                                         const struct mailbox_ids *ids, uint32_t *ret_uid, struct fault *fault)
{
    struct best best = {.candidate = CANDIDATE_OTHER};
    return compare_all(mailbox, search, ids, &best, fault) ? result_of(&best, ret_uid) : SEARCH_TROUBLE;
}

enum search_result mailbox_candidates(struct mailbox *mailbox, const struct search *search, bool ids_first,
                                      const uint32_t *uids, size_t count, uint32_t *ret_uid, struct fault *fault)
{
    struct best best = {.candidate = CANDIDATE_OTHER};
    struct mailbox_ids ids;
    for (size_t i = 0; i < count && best.candidate != CANDIDATE_SAME; i += ids.count) {
        ids = (struct mailbox_ids){.count = count - i < MAILBOX_IDS_MOST ? count - i : MAILBOX_IDS_MOST};
        for (size_t k = 0; k < ids.count; k++) {
            ids.uids[k] = uids[i + k];
            ids.told[k] = CANDIDATE_SIMILAR;
        }
        if (ids_first && search->ids.feed != NULL && !mailbox_ids_ask(mailbox, search, &ids, fault))
            return SEARCH_TROUBLE;
        if (!compare_all(mailbox, search, &ids, &best, fault))
            return SEARCH_TROUBLE;
    }
    return result_of(&best, ret_uid);
}
