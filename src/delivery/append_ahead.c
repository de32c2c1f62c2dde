/* SPDX-License-Identifier: ISC
 *
 * The steps of an APPEND: the command line goes out while the database works on the claim, the message after the hold. */
#include <string.h>

#include "base/output.h"
#include "delivery/append.h"

/* If the reader is gone by now, the message may be incomplete: it must not be stored, and never be resumed. */
static bool still_wanted(void *context)
{
    struct delivery_work *work = context;
    bool gone = work->delivery->reader_gone != NULL && work->delivery->reader_gone();
    if (gone)
        work->whole = false;
    return !gone;
}

static void set_request(struct delivery_work *work, size_t place)
{
    struct append_ahead *ahead = &work->ahead[place];
    const struct ledger_target *target = &work->targets.list[place];
    size_t count, size;
    base_free(&ahead->pieces);
    ahead->pieces = message_pieces(ahead->instead != NULL ? ahead->instead : work->delivery->message,
                                   target->role == COPY_SENT ? MESSAGE_NO_ENVELOPE : MESSAGE_ALL_FIELDS, &count, &size);
    ahead->request = (struct append){
        .mailbox = append_mailbox(work, place),
        .seen = target->role == COPY_SENT,
        .home = target->role == COPY_SENT ? work->targets.sender.home : target->mailbox,
        .internal_date = work->found->received_at,
        .pieces = ahead->pieces,
        .piece_count = count,
        .wanted = still_wanted,
        .context = work,
    };
}

void append_open(struct delivery_work *work, size_t place)
{
    struct append_ahead *ahead = &work->ahead[place];
    const char *account = work->targets.list[place].account;
    enum sessions_age age = work->plan->targets[place].doubt ? SESSIONS_NEW : SESSIONS_KEPT;
    ahead->unreachable = sessions_take(work->delivery->sessions, account, age, 0, &ahead->kept, &ahead->fault) == NULL;
    if (!ahead->unreachable)
        sessions_give_back(work->delivery->sessions, account);
}

/* Whether it may work later: when the sessions of others are given back, or with more time. */
static bool is_for_later(const struct delivery_work *work, struct append_ahead *ahead)
{
    bool late = !ahead->put_off && strcmp(ahead->fault.code, MAILBOX_LATE) == 0;
    ahead->put_off |= late;
    return late || sessions_in_the_way(work->delivery->sessions, &ahead->fault);
}

bool append_begin(struct delivery_work *work, size_t place, enum sessions_age age, int64_t limit_ms)
{
    struct append_ahead *ahead = &work->ahead[place];
    set_request(work, place);
    ahead->mailbox = sessions_take(work->delivery->sessions, work->targets.list[place].account, age, limit_ms,
                                   &ahead->kept, &ahead->fault);
    ahead->begun = ahead->mailbox != NULL || !is_for_later(work, ahead);
    if (ahead->mailbox != NULL) {
        ahead->put_off = false;
        mailbox_append_begin(ahead->mailbox, &ahead->request);
    }
    return ahead->mailbox != NULL;
}

void append_feed(struct delivery_work *work, size_t place, int64_t until_ms)
{
    if (work->ahead[place].mailbox != NULL)
        mailbox_append_feed(work->ahead[place].mailbox, until_ms);
}

/* The session is given back, or dropped after anything that leaves its state unknown. */
static void leave(struct delivery_work *work, size_t place, enum append_result result)
{
    struct append_ahead *ahead = &work->ahead[place];
    const char *account = work->targets.list[place].account;
    bool drop = result == APPEND_UNKNOWN || result == APPEND_NOT_SENT || result == APPEND_LOST;
    if (ahead->mailbox != NULL && drop)
        sessions_drop(work->delivery->sessions, account);
    else if (ahead->mailbox != NULL)
        sessions_give_back(work->delivery->sessions, account);
    ahead->mailbox = NULL;
    ahead->begun = false;
}

static enum append_result collect(struct delivery_work *work, size_t place, struct made *made)
{
    struct append_ahead *ahead = &work->ahead[place];
    enum append_result result = APPEND_NOT_SENT;
    if (ahead->mailbox != NULL)
        result = mailbox_append(ahead->mailbox, &made->uidvalidity, &made->uid, &ahead->fault);
    leave(work, place, result);
    return result;
}

struct made append_collect(struct delivery_work *work, size_t place, int64_t until_ms, bool alone, bool doubt)
{
    struct append_ahead *ahead = &work->ahead[place];
    struct made made = {.state = COPY_PENDING};
    enum append_result result = collect(work, place, &made);
    if (result == APPEND_LOST && ahead->kept && (alone || base_now_ms() < until_ms) &&
        append_in_time(work->delivery->config)) {
        append_begin(work, place, SESSIONS_NEW, 0);
        result = collect(work, place, &made);
    }
    append_take_result(work, place, result, doubt, &ahead->fault, &made);
    if (result == APPEND_NOT_SENT && !work->whole)
        report_set(&made.report, OUTCOME_TROUBLE, OUTPUT_CUT);
    return made;
}

void append_cancel(struct delivery_work *work, size_t place)
{
    if (work->ahead[place].begun)
        leave(work, place, APPEND_NOT_SENT);
    base_free(&work->ahead[place].pieces);
}
