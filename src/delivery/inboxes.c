/* SPDX-License-Identifier: ISC
 *
 * From the hold to the commit point. */
#include "delivery/inboxes.h"

#include "delivery/answers.h"
#include "delivery/append.h"
#include "delivery/copy.h"
#include "delivery/fallback.h"
#include "delivery/quarantine.h"
#include "delivery/search.h"

#define OPENING_MS 2000 /* for that long, further sessions are opened before those that are open are used */

/* Whether this target is an inbox whose copy is to be made. */
static bool is_made(const struct delivery_work *work, size_t target)
{
    return target != work->plan->sent && plan_is_made(&work->plan->targets[target]);
}

bool inboxes_any(const struct delivery_work *work)
{
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        if (is_made(work, i))
            return true;
    return false;
}

/* Whether it is to be searched for first, which takes a session for itself. */
static bool is_searched(const struct delivery_work *work, size_t target)
{
    return work->plan->targets[target].action == PLAN_SEARCH;
}

/* Which target is first. It is tried however little time is left; otherwise a slow database could put it off for ever. */
static size_t first_target(const struct delivery_work *work)
{
    size_t i = 0;
    while (!is_made(work, work->targets.order[i]))
        i++;
    return work->targets.order[i];
}

/* The targets that are left for this round and those after it. */
struct round {
    size_t fresh, put_off; /* not put off, and put off until there are none of those */
    size_t silent;         /* put off before, and not left: their sessions could not be opened then either */
};

static bool is_wanted(const struct delivery_work *work, const bool *done, size_t target)
{
    return is_made(work, target) && !is_searched(work, target) && (done == NULL || !done[target]);
}

/* done: [targets] leave these out; NULL: none */
static struct round round_of(const struct delivery_work *work, const bool *done)
{
    struct round round = {.fresh = 0};
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        bool put_off = work->appends[i].put_off, wanted = is_wanted(work, done, i);
        round.fresh += wanted && !put_off;
        round.put_off += wanted && put_off;
        round.silent += !wanted && put_off;
    }
    return round;
}

/* How long a session may take to open: the less the more were silent, so that many of them do not take up the time of the
 * others. The first of them has all of it, and one that nobody waits for imap.timeout for each step. */
static int64_t opening_ms(const struct delivery_work *work, const struct round *round)
{
    if (round->fresh > 0 && round->fresh + round->put_off > 1)
        return OPENING_MS / (int64_t)(round->put_off + 1);
    return work->request->config->imap.timeout / (int64_t)(round->silent + 1);
}

/* Begins APPENDs on sessions of different accounts. Those that are open are not kept waiting for one that cannot be opened,
 * or only slowly: the others are for the next round. False: nothing was begun or put off. */
static bool begin_round(struct delivery_work *work, const bool *done)
{
    const struct round round = round_of(work, done);
    int64_t until = base_now_ms() + OPENING_MS;
    bool any = false;
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        size_t target = work->targets.order[i];
        struct appending *it = &work->appends[target];
        bool put_off = it->put_off;
        if (!is_wanted(work, done, target) || (put_off && round.fresh > 0) ||
            !sessions_available(work->request->sessions, work->targets.list[target].account))
            continue;
        const struct letter letter = letter_planned(work, target);
        bool open = append_begin(work, &letter, opening_ms(work, &round));
        any |= it->begun || it->put_off != put_off;
        if (!open || base_now_ms() >= until)
            break;
    }
    return any;
}

void inboxes_begin(struct delivery_work *work)
{
    if (!inboxes_any(work))
        return;
    size_t first = first_target(work);
    if (is_searched(work, first))
        search_open(work, first);
    else
        (void)!begin_round(work, NULL);
}

void inboxes_cancel(struct delivery_work *work)
{
    for (size_t i = 0; work->appends != NULL && i < work->targets.message.target_count; i++)
        append_cancel(work, i);
}

static struct made left_for_later(const struct delivery_work *work, size_t target)
{
    struct made made = {.state = COPY_PENDING, .doubt = work->plan->targets[target].doubt};
    report_set(&made.report, OUTCOME_TROUBLE, "other mailboxes took up the time for this message");
    return made;
}

/* The copies being made: one for each target. */
struct making {
    struct delivery_work *work;
    struct made *made;
    bool *done;
    bool first; /* nothing was tried yet */
    size_t left;
};

static bool in_time(struct making *making)
{
    bool first = making->first;
    making->first = false;
    return first || made_in_time(making->work->request->config);
}

static void note(struct making *making, size_t target, struct made made)
{
    making->made[target] = made;
    making->done[target] = true;
    making->left--;
}

/* Instead of a search that would prove nothing. */
static struct made fenced(const struct delivery_work *work, size_t target)
{
    const struct ledger_target *it = &work->targets.list[target];
    struct made made = {.state = COPY_PENDING, .doubt = work->plan->targets[target].doubt};
    report_set(&made.report, OUTCOME_BUSY, "another copy for %s may be on its way to %s", it->account, it->mailbox);
    return made;
}

static void search_and_append(struct making *making, size_t target)
{
    struct delivery_work *work = making->work;
    bool alias = work->plan->targets[target].alias;
    if (alias && fallback_awaits(work, target, work->targets.list[target].mailbox, making->made))
        note(making, target, fenced(work, target));
    else
        note(making, target, in_time(making) ? copy_make(work, target) : left_for_later(work, target));
}

/* Sends the message wherever an APPEND was begun, then waits for the answers: the mailboxes are filled at the same time,
 * and the time that silent ones take counts once. */
static void finish_round(struct making *making)
{
    struct delivery_work *work = making->work;
    int64_t until = base_now_ms() + work->request->config->imap.timeout;
    size_t count = work->targets.message.target_count;
    bool alone = making->left == 1;
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        if (!work->appends[target].begun)
            continue;
        if (work->appends[target].mailbox == NULL || in_time(making)) {
            append_feed(work, target, until);
        } else {
            append_cancel(work, target);
            note(making, target, left_for_later(work, target));
        }
    }
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        if (work->appends[target].begun)
            note(making, target, append_collect(work, target, until, alone));
    }
}

/* Begins another round, if something is left for one, and if there is time. What is put off may leave it empty. */
static bool next_round(struct making *making)
{
    struct delivery_work *work = making->work;
    bool any = false, time = making->first || made_in_time(work->request->config);
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        any |= is_wanted(work, making->done, i);
        if (!time && is_wanted(work, making->done, i))
            note(making, i, left_for_later(work, i));
    }
    return any && time && begin_round(work, making->done);
}

/* What was not stored in its mailbox as it is. Before a fallback adds anything to a mailbox, it must be known what has
 * become of that mailbox's own copy. */
static void append_otherwise(struct delivery_work *work, struct made *made)
{
    size_t count = work->targets.message.target_count;
    for (size_t i = 0; i < count; i++)
        if (is_made(work, work->targets.order[i]))
            quarantine_append(work, work->targets.order[i], &made[work->targets.order[i]]);
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        if (!is_made(work, target) || !made[target].never)
            continue;
        fallback_append(work, target, made);
        quarantine_append(work, target, &made[target]);
    }
}

/* A target to be searched has the session of its account for itself, so it has a turn of its own: before all others if
 * it is first, else after them. */
static void append_inboxes(struct delivery_work *work, struct made *made)
{
    size_t count = work->targets.message.target_count, first = first_target(work);
    bool *done OD_CLEANUP(base_free) = base_alloc(count + 1);
    struct making making = {.work = work, .made = made, .done = done, .first = true};
    for (size_t i = 0; i < count; i++)
        making.left += is_made(work, i);
    if (is_searched(work, first))
        search_and_append(&making, first);
    else
        finish_round(&making);
    while (next_round(&making))
        finish_round(&making);
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        if (is_made(work, target) && !done[target])
            search_and_append(&making, target);
    }
    append_otherwise(work, made);
}

/* Gives the report of each copy made to its recipients. */
static void report_copies(struct delivery_work *work, const struct made *made)
{
    for (size_t i = 0; i < work->request->recipient_count; i++) {
        struct delivery_answer *answer = &work->delivery->answers[i];
        size_t target = work->targets.of_recipient[i];
        if (target == LEDGER_NO_TARGET || answer->report.given)
            continue;
        answer->report = made[target].report;
        answer->uid = made[target].uid;
        answer->filed = made[target].state == COPY_STORED ? made[target].fallback : NULL;
    }
}

/* After settling: a success counts only if it is in the ledger. */
static void retract(struct delivery_work *work, size_t target, enum outcome outcome, const char *text)
{
    for (size_t i = 0; i < work->request->recipient_count; i++)
        if (work->targets.of_recipient[i] == target)
            report_set(&work->delivery->answers[i].report, outcome, "%s", text);
}

/* The commit point. Returns whether the Sent copy is held now. */
static bool settle_inboxes(struct delivery_work *work, const struct made *made)
{
    struct fault fault;
    struct ledger_answers answers OD_CLEANUP(answers_clear) = answers_record(work);
    size_t count = 0, target_count = work->targets.message.target_count;
    struct ledger_made *settled OD_CLEANUP(base_free) = base_alloc((target_count + 1) * sizeof(*settled));
    bool *taken OD_CLEANUP(base_free) = base_alloc(target_count + 1);
    bool held = false;
    for (size_t i = 0; i < target_count; i++)
        if (is_made(work, i))
            settled[count++] = made_settled(i, &made[i]);
    const struct ledger_settling settling = {
        .made = settled,
        .made_count = count,
        .answers = answers,
        .next = plan_makes_sent(work->plan) ? work->plan->sent : LEDGER_NO_TARGET,
    };
    enum ledger_result result = ledger_settle(work->delivery->ledger, work->claim, &settling, &held, taken, &fault);
    for (size_t i = 0; i < count; i++) {
        if (result == LEDGER_TROUBLE)
            retract(work, settled[i].target, OUTCOME_DATABASE, fault.text);
        else if (taken[i])
            retract(work, settled[i].target, OUTCOME_BUSY, "another delivery has taken over");
    }
    return held;
}

bool inboxes_deliver(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct made *made OD_CLEANUP(base_free) = base_alloc((work->targets.message.target_count + 1) * sizeof(*made));
    append_inboxes(work, made);
    report_copies(work, made);
    work->sent_fenced = plan_makes_sent(work->plan) && work->plan->targets[work->plan->sent].alias &&
                        fallback_awaits(work, work->plan->sent, work->targets.list[work->plan->sent].mailbox, made);
    delivery_spent(delivery, PHASE_IMAP);
    bool held = settle_inboxes(work, made);
    delivery_spent(delivery, PHASE_SETTLE);
    return held;
}
