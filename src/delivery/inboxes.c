/* SPDX-License-Identifier: ISC
 *
 * Rounds: open sessions and begin APPENDs, send the message on all, collect all results. */
#include "delivery/delivery_internal.h"

#define OPENING_MS 2000 /* then a round uses what is open */

static bool is_planned(const struct delivery_work *work, size_t target)
{
    return target != work->plan->sent && plan_makes_copy(&work->plan->targets[target]);
}

static bool is_untried(const struct delivery_work *work, size_t target)
{
    return is_planned(work, target) && work->results[target].state == COPY_NONE;
}

static size_t count_left(const struct delivery_work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        count += is_untried(work, i);
    return count;
}

bool inboxes_any(const struct delivery_work *work)
{
    return count_left(work) > 0;
}

static bool is_searched(const struct delivery_work *work, size_t target)
{
    return work->plan->targets[target].action == PLAN_SEARCH;
}

/* Returns the target that is tried however little time is left: a slow database must not postpone it for ever. */
static size_t first_target(const struct delivery_work *work)
{
    size_t i = 0;
    while (!is_planned(work, work->targets.order[i]))
        i++;
    return work->targets.order[i];
}

static bool is_wanted(const struct delivery_work *work, size_t target)
{
    return is_untried(work, target) && !is_searched(work, target);
}

struct round {
    size_t fresh, postponed; /* not postponed; postponed until there are none of those */
    size_t unresponsive;     /* postponed, and failed again */
};

static struct round round_of(const struct delivery_work *work)
{
    struct round round = {.fresh = 0};
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        bool postponed = work->appends[i].postponed, wanted = is_wanted(work, i);
        round.fresh += wanted && !postponed;
        round.postponed += wanted && postponed;
        round.unresponsive += !wanted && postponed;
    }
    return round;
}

/* Returns the timeout for a session: the shorter the more timed out, so that other servers have time. */
static int64_t opening_ms(const struct delivery_work *work, size_t target, const struct round *round)
{
    if (round->fresh > 0 && round->fresh + round->postponed > 1)
        return OPENING_MS / (int64_t)(round->postponed + 1);
    return target_server(work, target)->imap.timeout / (int64_t)(round->unresponsive + 1);
}

/* A slow or failed open ends the round, so that open sessions do not wait. Returns false if nothing was begun or
 * postponed. */
static bool begin_round(struct delivery_work *work)
{
    const struct round round = round_of(work);
    int64_t until = base_now_ms() + OPENING_MS;
    bool any = false;
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        size_t target = work->targets.order[i];
        struct append_op *it = &work->appends[target];
        bool postponed = it->postponed;
        if (!is_wanted(work, target) || (postponed && round.fresh > 0) ||
            !sessions_available(work->request->sessions, target_server(work, target),
                                work->targets.list[target].account))
            continue;
        const struct append_item item = append_item_planned(work, target);
        bool open = append_begin(work, &item, SESSIONS_REUSED, opening_ms(work, target, &round));
        any |= it->begun || it->postponed != postponed;
        if (!open || base_now_ms() >= until)
            break;
    }
    return any;
}

bool inboxes_open(const struct delivery_work *work)
{
    return count_left(work) == 1 && sessions_is_open(work->request->sessions, target_server(work, first_target(work)),
                                                     work->targets.list[first_target(work)].account);
}

void inboxes_begin(struct delivery_work *work)
{
    if (!inboxes_any(work))
        return;
    size_t first = first_target(work);
    if (is_searched(work, first))
        search_open(work, first);
    else
        (void)!begin_round(work);
}

void inboxes_cancel(struct delivery_work *work)
{
    for (size_t i = 0; work->appends != NULL && i < work->targets.message.target_count; i++)
        append_cancel(work, i);
}

static bool in_time(const struct delivery_work *work, size_t target, bool *first)
{
    bool was_first = *first;
    *first = false;
    return was_first || append_fits_deadline(work, target);
}

/* Defers the copy; returns where to report why. */
static struct report *put_aside(struct delivery_work *work, size_t target)
{
    work->results[target] = (struct copy_result){.state = COPY_PENDING, .doubt = work->plan->targets[target].doubt};
    return &work->results[target].report;
}

static void leave_for_later(struct delivery_work *work, size_t target)
{
    report_set(put_aside(work, target), OUTCOME_TEMPFAIL, NO_TIME_LEFT);
}

static void search_and_append(struct delivery_work *work, size_t target, bool *first)
{
    const struct ledger_target *it = &work->targets.list[target];
    bool same_mailbox = work->plan->targets[target].same_mailbox;
    if (same_mailbox && fallback_awaits(work, target, it->mailbox)) /* a search would prove nothing */
        report_set(put_aside(work, target), OUTCOME_BUSY, "another copy for %s may be on its way to %s", it->account,
                   it->mailbox);
    else if (in_time(work, target, first))
        copy_make(work, target);
    else
        leave_for_later(work, target);
}

/* Sends all before it collects: mailboxes are filled concurrently, and timeouts count once. */
static void finish_round(struct delivery_work *work, bool *first)
{
    int64_t began = base_now_ms();
    size_t count = work->targets.message.target_count;
    bool alone = count_left(work) == 1;
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        if (!work->appends[target].begun)
            continue;
        if (work->appends[target].mailbox == NULL || in_time(work, target, first)) {
            append_send(work, target, began + target_server(work, target)->imap.timeout);
        } else {
            append_cancel(work, target);
            leave_for_later(work, target);
        }
    }
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        if (work->appends[target].begun)
            work->results[target] =
                append_collect(work, target, began + target_server(work, target)->imap.timeout, alone);
    }
}

static bool next_round(struct delivery_work *work, bool first)
{
    for (size_t i = 0; !first && i < work->targets.message.target_count; i++)
        if (is_wanted(work, i) && !append_fits_deadline(work, i))
            leave_for_later(work, i);
    return begin_round(work);
}

/* A fallback adds to a mailbox after its own copy has a result. */
static void append_otherwise(struct delivery_work *work)
{
    size_t count = work->targets.message.target_count;
    for (size_t i = 0; i < count; i++)
        if (is_planned(work, work->targets.order[i]))
            quarantine_append(work, work->targets.order[i]);
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        if (!work->results[target].impossible)
            continue;
        fallback_append(work, target);
        quarantine_append(work, target);
    }
}

/* A search needs the account's session for itself: its turn is before the rounds if it is first, else after them. */
static void append_inboxes(struct delivery_work *work)
{
    size_t first_one = first_target(work);
    bool first = true;
    if (is_searched(work, first_one))
        search_and_append(work, first_one, &first);
    else
        finish_round(work, &first);
    while (next_round(work, first))
        finish_round(work, &first);
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        if (is_untried(work, work->targets.order[i]))
            search_and_append(work, work->targets.order[i], &first);
    append_otherwise(work);
}

static void report_copies(struct delivery_work *work)
{
    for (size_t i = 0; i < work->request->recipient_count; i++) {
        struct delivery_reply *reply = &work->delivery->replies[i];
        size_t target = work->targets.of_recipient[i];
        if (target == LEDGER_NO_TARGET || reply->report.given)
            continue;
        const struct copy_result *result = &work->results[target];
        reply->report = result->report;
        reply->uid = result->uid;
        reply->filed = result->state == COPY_STORED ? result->fallback : NULL;
    }
}

bool inboxes_deliver(struct delivery_work *work)
{
    append_inboxes(work);
    report_copies(work);
    delivery_add_time(work->delivery, PHASE_IMAP);
    return claim_settle(work, false);
}
