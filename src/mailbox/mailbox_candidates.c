/* SPDX-License-Identifier: ISC
 *
 * What a search has found: each message is fetched and compared. */
#include "mailbox/mailbox_session.h"

struct fetched {
    const struct search *search;
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
        (void)!fetched->search->end(fetched->search->context);
    fetched->size = size > 0 ? fetched->size + size : 0;
    fetched->fed = true;
    if (size > 0)
        fetched->search->feed(fetched->search->context, bytes, size);
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
        candidate = fetched->search->end(fetched->search->context);
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
    struct fetched fetched = {.search = search, .uid = uid};
    struct mailbox_reply reply;
    const char *part = search->header_only ? "HEADER.FIELDS (MESSAGE-ID)" : "";
    mailbox->body = feed_body;
    mailbox->body_context = &fetched;
    bool answered = mailbox_dialogue_ask(mailbox, "UID FETCH", note_fetched, &fetched, &reply, fault,
                                         "UID FETCH %u (UID BODY.PEEK[%s])", uid, part);
    mailbox->body = NULL;
    mailbox->body_context = NULL;
    *ret = fetched.candidate;
    if (answered && !fetched.told)
        fault_set(fault, "%s: UID FETCH of message %u returned nothing", mailbox->where, uid);
    return answered && fetched.told;
}

enum search_result mailbox_candidates(struct mailbox *mailbox, const struct search *search, const uint32_t *uids,
                                      size_t count, uint32_t *ret_uid, struct fault *fault)
{
    enum candidate best = CANDIDATE_OTHER;
    uint32_t uid = 0;
    for (size_t i = 0; i < count && best != CANDIDATE_SAME; i++) {
        enum candidate candidate;
        if (!compare(mailbox, search, uids[i], &candidate, fault))
            return SEARCH_TROUBLE;
        if (candidate > best) {
            best = candidate;
            uid = uids[i];
        }
    }
    if (best == CANDIDATE_OTHER)
        return SEARCH_ABSENT;
    *ret_uid = uid;
    return SEARCH_FOUND;
}
