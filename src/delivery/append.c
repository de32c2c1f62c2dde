/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

#include <string.h>

/* Returns false if the peer closed: the message, perhaps incomplete, must neither be stored nor resumed. */
static bool still_wanted(void *context)
{
    struct delivery_work *work = context;
    bool gone = work->request->peer_closed != NULL && work->request->peer_closed(work->request->reader);
    if (gone)
        work->complete = false;
    return !gone;
}

static void announce(struct delivery_work *work, struct append_op *it)
{
    const struct message *message = it->item.notice != NULL ? it->item.notice : work->request->message;
    const struct ledger_target *target = &work->targets.list[it->item.target];
    bool sent = target->role == COPY_SENT;
    size_t count, size;
    it->pieces = message_pieces(message, sent ? MESSAGE_NO_ENVELOPE : MESSAGE_ALL_FIELDS, &count, &size);
    const struct append append = {
        .mailbox = append_item_mailbox(work, &it->item),
        .seen = sent,
        .home = sent ? work->targets.sender.home : target->mailbox,
        .internal_date = work->found->received_at,
        .pieces = it->pieces,
        .piece_count = count,
        .wanted = still_wanted,
        .context = work,
    };
    mailbox_append_begin(it->mailbox, &append);
}

bool append_begin(struct delivery_work *work, const struct append_item *item, enum sessions_age age, int64_t limit_ms)
{
    struct sessions *sessions = work->request->sessions;
    struct append_op *it = &work->appends[item->target];
    it->item = *item;
    it->mailbox = sessions_acquire(sessions, target_server(work, item->target),
                                   work->targets.list[item->target].account, age, limit_ms, &it->reused, &it->error);
    if (it->mailbox != NULL) {
        it->begun = true;
        it->postponed = false;
        announce(work, it);
        return true;
    }
    bool timed_out = !it->postponed && strcmp(it->error.code, MAILBOX_TIMED_OUT) == 0;
    it->postponed |= timed_out;
    it->begun = !timed_out && !sessions_none_free(sessions, &it->error);
    return false;
}

void append_send(struct delivery_work *work, size_t target, int64_t until_ms)
{
    if (work->appends[target].mailbox != NULL)
        mailbox_append_send(work->appends[target].mailbox, until_ms);
}

static void end_append(struct delivery_work *work, struct append_op *it, enum append_result status)
{
    const struct config *server = target_server(work, it->item.target);
    const char *account = work->targets.list[it->item.target].account;
    bool drop = status == APPEND_UNKNOWN || status == APPEND_NOT_SENT || status == APPEND_LOST;
    if (it->mailbox != NULL && drop)
        sessions_discard(work->request->sessions, server, account);
    else if (it->mailbox != NULL)
        sessions_release(work->request->sessions, server, account);
    it->mailbox = NULL;
    it->begun = false;
    base_free(&it->pieces);
}

static enum append_result finish_append(struct delivery_work *work, struct append_op *it, struct copy_result *result)
{
    enum append_result status = APPEND_NOT_SENT;
    if (it->mailbox != NULL)
        status = mailbox_append(it->mailbox, &result->uidvalidity, &result->uid, &it->error);
    end_append(work, it, status);
    return status;
}

struct copy_result append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone)
{
    struct append_op *it = &work->appends[target];
    const struct append_item item = it->item;
    struct copy_result result = {.state = COPY_PENDING};
    enum append_result status = finish_append(work, it, &result);
    if (status == APPEND_LOST && it->reused && (alone || base_now_ms() < until_ms) &&
        append_fits_deadline(work, target)) {
        append_begin(work, &item, SESSIONS_NEW, 0);
        status = finish_append(work, it, &result);
    }
    copy_result_of_append(work, &item, status, &it->error, &result);
    if (status == APPEND_NOT_SENT && !work->complete)
        report_set(&result.report, OUTCOME_TEMPFAIL, OUTPUT_CUT);
    return result;
}

void append_cancel(struct delivery_work *work, size_t target)
{
    if (work->appends[target].begun)
        end_append(work, &work->appends[target], APPEND_NOT_SENT);
}

struct copy_result append_now(struct delivery_work *work, const struct append_item *item)
{
    append_begin(work, item, SESSIONS_REUSED, 0);
    int64_t until = base_now_ms() + target_server(work, item->target)->imap.timeout;
    append_send(work, item->target, until);
    return append_collect(work, item->target, until, true);
}
