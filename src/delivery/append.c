/* SPDX-License-Identifier: ISC */
#include "delivery/append.h"

#include <string.h>

#include "base/output.h"

/* Returns false if the peer closed: the message, perhaps incomplete, must neither be stored nor resumed. */
static bool still_wanted(void *context)
{
    struct delivery_work *work = context;
    bool gone = work->request->reader_gone != NULL && work->request->reader_gone(work->request->reader);
    if (gone)
        work->whole = false;
    return !gone;
}

static void announce(struct delivery_work *work, struct appending *it)
{
    const struct message *message = it->letter.explanation != NULL ? it->letter.explanation : work->request->message;
    const struct ledger_target *target = &work->targets.list[it->letter.target];
    bool sent = target->role == COPY_SENT;
    size_t count, size;
    it->pieces = message_pieces(message, sent ? MESSAGE_NO_ENVELOPE : MESSAGE_ALL_FIELDS, &count, &size);
    const struct append append = {
        .mailbox = letter_mailbox(work, &it->letter),
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

bool append_begin(struct delivery_work *work, const struct letter *letter, enum sessions_age age, int64_t limit_ms)
{
    struct sessions *sessions = work->request->sessions;
    struct appending *it = &work->appends[letter->target];
    it->letter = *letter;
    it->mailbox = sessions_take(sessions, target_server(work, letter->target),
                                work->targets.list[letter->target].account, age, limit_ms, &it->kept, &it->fault);
    if (it->mailbox != NULL) {
        it->begun = true;
        it->put_off = false;
        announce(work, it);
        return true;
    }
    bool late = !it->put_off && strcmp(it->fault.code, MAILBOX_LATE) == 0;
    it->put_off |= late;
    it->begun = !late && !sessions_in_the_way(sessions, &it->fault);
    return false;
}

void append_feed(struct delivery_work *work, size_t target, int64_t until_ms)
{
    if (work->appends[target].mailbox != NULL)
        mailbox_append_feed(work->appends[target].mailbox, until_ms);
}

static void end_append(struct delivery_work *work, struct appending *it, enum append_result result)
{
    const struct config *server = target_server(work, it->letter.target);
    const char *account = work->targets.list[it->letter.target].account;
    bool drop = result == APPEND_UNKNOWN || result == APPEND_NOT_SENT || result == APPEND_LOST;
    if (it->mailbox != NULL && drop)
        sessions_drop(work->request->sessions, server, account);
    else if (it->mailbox != NULL)
        sessions_give_back(work->request->sessions, server, account);
    it->mailbox = NULL;
    it->begun = false;
    base_free(&it->pieces);
}

static enum append_result finish_append(struct delivery_work *work, struct appending *it, struct made *made)
{
    enum append_result result = APPEND_NOT_SENT;
    if (it->mailbox != NULL)
        result = mailbox_append(it->mailbox, &made->uidvalidity, &made->uid, &it->fault);
    end_append(work, it, result);
    return result;
}

struct made append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone)
{
    struct appending *it = &work->appends[target];
    const struct letter letter = it->letter;
    struct made made = {.state = COPY_PENDING};
    enum append_result result = finish_append(work, it, &made);
    if (result == APPEND_LOST && it->kept && (alone || base_now_ms() < until_ms) && made_in_time(work, target)) {
        append_begin(work, &letter, SESSIONS_NEW, 0);
        result = finish_append(work, it, &made);
    }
    made_by_append(work, &letter, result, &it->fault, &made);
    if (result == APPEND_NOT_SENT && !work->whole)
        report_set(&made.report, OUTCOME_TROUBLE, OUTPUT_CUT);
    return made;
}

void append_cancel(struct delivery_work *work, size_t target)
{
    if (work->appends[target].begun)
        end_append(work, &work->appends[target], APPEND_NOT_SENT);
}

struct made append_now(struct delivery_work *work, const struct letter *letter)
{
    append_begin(work, letter, SESSIONS_KEPT, 0);
    int64_t until = base_now_ms() + target_server(work, letter->target)->imap.timeout;
    append_feed(work, letter->target, until);
    return append_collect(work, letter->target, until, true);
}
