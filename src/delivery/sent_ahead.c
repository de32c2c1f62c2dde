/* SPDX-License-Identifier: ISC
 *
 * What can be done for the Sent copy before it may be made. Its session is opened only after those of all inboxes, so that
 * it takes none from them. */
#include "delivery/append.h"
#include "delivery/sent.h"

#define AHEAD_MS 2000 /* for that long, what others wait for is watched together with the server of the Sent mailbox */
#define PART_MS 2     /* for the rest of an answer to arrive */

static const char *account_of(const struct delivery_work *work)
{
    return work->targets.list[work->plan->sent].account;
}

static bool inboxes_have_sessions(const struct delivery_work *work)
{
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        if (i != work->plan->sent && plan_is_made(&work->plan->targets[i]) && work->ahead[i].mailbox == NULL)
            return false;
    return true;
}

void sent_begin(struct delivery_work *work)
{
    struct sessions *sessions = work->delivery->sessions;
    struct sent_ahead *it = &work->sent_ahead;
    it->allowed = sent_is_due(work) && inboxes_have_sessions(work);
    if (it->allowed && sessions_available(sessions, account_of(work)))
        it->opening = sessions_open_ahead(sessions, account_of(work));
}

/* Begins the search, or the APPEND if there is nothing to search for, if the session is there. In doubt the search is part
 * of what must not happen before the hold that protects the APPEND. */
static void begin_next(struct delivery_work *work)
{
    struct sessions *sessions = work->delivery->sessions;
    size_t place = work->plan->sent;
    struct append_ahead *ahead = &work->ahead[place];
    const struct plan_target *plan = &work->plan->targets[place];
    struct fault ignored;
    if (plan->doubt)
        return;
    sent_end_opening(work);
    if (!sessions_has_open(sessions, account_of(work), SESSIONS_KEPT))
        return;
    if (plan->action == PLAN_SEARCH && !ahead->absent)
        (void)!append_search_begin(work, place, &ignored);
    else
        (void)!append_begin(work, place, SESSIONS_KEPT);
}

/* Goes on without waiting. False: nothing can be done now. Else the server is to say something: *ret_descriptor has
 * something to read then, or is -1, and *ret_until_ms is when to look again. */
static bool go_on(struct delivery_work *work, int64_t until_ms, int *ret_descriptor, int64_t *ret_until_ms)
{
    struct sent_ahead *it = &work->sent_ahead;
    while (it->allowed && base_now_ms() < until_ms) {
        const struct append_ahead *ahead = &work->ahead[work->plan->sent];
        struct mailbox *busy = it->opening != NULL ? it->opening : ahead->searched;
        enum mailbox_ahead next = busy != NULL ? mailbox_ahead(busy) : AHEAD_OVER;
        struct made made;
        struct fault fault;
        bool kept;
        if (next == AHEAD_WAITS || next == AHEAD_PART) {
            *ret_descriptor = next == AHEAD_WAITS ? mailbox_descriptor(busy) : -1;
            *ret_until_ms = next == AHEAD_WAITS ? until_ms : base_now_ms() + PART_MS;
            return true;
        }
        if (next == AHEAD_STUCK || !it->held || ahead->begun)
            return false;
        if (ahead->searched != NULL)
            (void)!append_search_end(work, work->plan->sent, &made, &kept, &fault);
        begin_next(work);
        if (ahead->searched == NULL)
            return false;
    }
    return false;
}

void sent_go_on_until_claimed(struct delivery_work *work)
{
    int descriptor;
    int64_t until = base_now_ms() + AHEAD_MS, next;
    while (go_on(work, until, &descriptor, &next) && ledger_wait_either(work->delivery->ledger, descriptor, next)) {
    }
}

void sent_go_on_until(struct delivery_work *work, const struct mailbox *mailbox)
{
    int descriptor;
    int64_t until = base_now_ms() + AHEAD_MS, next;
    while (mailbox != NULL && go_on(work, until, &descriptor, &next) &&
           mailbox_wait_either(mailbox, descriptor, next)) {
    }
}

void sent_held(struct delivery_work *work)
{
    work->sent_ahead.held = true;
}

void sent_end_opening(struct delivery_work *work)
{
    if (work->sent_ahead.opening != NULL)
        sessions_give_back(work->delivery->sessions, account_of(work));
    work->sent_ahead.opening = NULL;
}

void sent_cancel(struct delivery_work *work)
{
    struct sent_ahead *it = &work->sent_ahead;
    if (!it->allowed)
        return;
    if (it->opening != NULL)
        sessions_drop(work->delivery->sessions, account_of(work));
    append_cancel(work, work->plan->sent);
    *it = (struct sent_ahead){.allowed = false};
}
