/* SPDX-License-Identifier: ISC
 *
 * What is done for the Sent copy while others are waited for. Its session is opened only after those of all inboxes, so
 * that it takes none from them; and one that an inbox uses stays with that, which may need it again. */
#include "delivery/append.h"
#include "delivery/quarantine.h"
#include "delivery/sent.h"

#define AHEAD_MS 2000 /* for that long, what others wait for is watched together with the server of the Sent mailbox */
#define PART_MS 2     /* for the rest of an answer to arrive */
#define TOGETHER_MS 5 /* for what is about to come anyway, so that one COMMIT records all */

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
    it->allowed = sent_is_due(work) && inboxes_have_sessions(work) && sessions_available(sessions, account_of(work));
    if (it->allowed)
        it->opening = sessions_open_ahead(sessions, account_of(work));
}

/* Begins the search, or once that has found nothing the APPEND, if the session is there. In doubt the search must be the
 * newest thing that is known before the APPEND, and on a session of its own: that is left to sent_deliver; as is a mailbox
 * that may be one of the inboxes by another name. */
static void begin_next(struct delivery_work *work)
{
    struct sessions *sessions = work->delivery->sessions;
    size_t place = work->plan->sent;
    struct append_ahead *ahead = &work->ahead[place];
    const struct plan_target *plan = &work->plan->targets[place];
    struct fault ignored;
    if (plan->doubt || plan->alias || quarantine_is_searched(work, place))
        return;
    sent_end_opening(work);
    if (!sessions_has_open(sessions, account_of(work), SESSIONS_KEPT))
        return;
    if (plan->action == PLAN_SEARCH && !ahead->absent)
        (void)!append_search_begin(work, place, &ignored);
    else if (ahead->absent)
        (void)!append_begin(work, place, SESSIONS_KEPT, 0);
}

static enum mailbox_ahead go_on_with(struct delivery_work *work, struct mailbox *mailbox)
{
    if (mailbox == NULL)
        return AHEAD_OVER;
    if (mailbox != work->ahead[work->plan->sent].mailbox)
        return mailbox_ahead(mailbox);
    if (!mailbox_append_is_fed(mailbox) && !append_in_time(work->delivery->config))
        return AHEAD_STUCK;
    return mailbox_append_ahead(mailbox);
}

/* The session on which something is under way; NULL: none. */
static struct mailbox *busy(const struct delivery_work *work)
{
    const struct append_ahead *ahead = &work->ahead[work->plan->sent];
    struct mailbox *opening = work->sent_ahead.opening;
    return opening != NULL ? opening : ahead->searched != NULL ? ahead->searched : ahead->mailbox;
}

/* Goes on without waiting. False: nothing can be done now. Else the server is to say something: *ret_descriptor has
 * something to read then, or is -1, and *ret_until_ms is when to look again. */
static bool go_on(struct delivery_work *work, int64_t until_ms, int *ret_descriptor, int64_t *ret_until_ms)
{
    struct sent_ahead *it = &work->sent_ahead;
    while (it->allowed && base_now_ms() < until_ms) {
        struct append_ahead *ahead = &work->ahead[work->plan->sent];
        struct mailbox *mailbox = busy(work);
        enum mailbox_ahead next = go_on_with(work, mailbox);
        struct made made;
        struct fault fault;
        bool kept;
        if (next == AHEAD_WAITS || next == AHEAD_PART) {
            *ret_descriptor = next == AHEAD_WAITS ? mailbox_descriptor(mailbox) : -1;
            *ret_until_ms = next == AHEAD_WAITS ? until_ms : base_now_ms() + PART_MS;
            return true;
        }
        if (next == AHEAD_STUCK || !it->held || ahead->begun)
            return false;
        if (ahead->searched != NULL)
            ahead->absent = append_search_end(work, work->plan->sent, &made, &kept, &fault) == SEARCH_ABSENT;
        begin_next(work);
        if (ahead->searched == NULL && ahead->mailbox == NULL)
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

bool sent_answered(struct delivery_work *work)
{
    int descriptor;
    int64_t until = base_now_ms() + TOGETHER_MS, next;
    const struct append_ahead *ahead = &work->ahead[work->plan->sent];
    while (go_on(work, until, &descriptor, &next))
        (void)!mailbox_wait_either(busy(work), -1, next);
    return ahead->begun && ahead->mailbox != NULL && go_on_with(work, ahead->mailbox) == AHEAD_OVER;
}

bool sent_is_sent(const struct delivery_work *work)
{
    const struct append_ahead *ahead = &work->ahead[work->plan->sent];
    return ahead->begun && ahead->mailbox != NULL && mailbox_append_is_fed(ahead->mailbox);
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
