/* SPDX-License-Identifier: ISC */
#include "delivery/append.h"

#include <string.h>

#include "base/log.h"
#include "message/message_comparison.h"

#define SENT_NEWEST 500     /* how far back the Sent mailbox is searched for the Message-ID */

/* A message in doubt may be there as another try brought it: with other fields that transport added, whose size is nobody's
 * to say; and servers that count a line end as one byte say little more than half of the size. But no MTA passes on a header of more than 1 MiB (Exim, header_maxsize; Postfix 100 KiB). */
#define TRANSPORT_MOST (1024 * 1024)

/* What a result of APPEND means. Only what speaks of this message or this mailbox may ever bounce: REFUSED and LIMIT after
 * reject_after, OVERQUOTA by its setting, TOOBIG. For the Sent copy that is `failed`. */
static const struct {
    enum copy_state state;
    bool certain;       /* this attempt stored nothing: doubt is as before, or cleared by a search that found nothing */
    enum outcome outcome;
} meanings[] = {
    [APPEND_UNKNOWN] = {COPY_APPENDING, false, OUTCOME_MAILBOX},
    [APPEND_TROUBLE] = {COPY_PENDING, false, OUTCOME_MAILBOX},
    [APPEND_REFUSED] = {COPY_PENDING, false, OUTCOME_REFUSED_DEFER},
    [APPEND_LIMIT] = {COPY_PENDING, false, OUTCOME_REFUSED_DEFER},
    [APPEND_PERHAPS_OVERQUOTA] = {COPY_PENDING, false, OUTCOME_OVERQUOTA_DEFER},
    [APPEND_STORED] = {COPY_STORED, true, OUTCOME_STORED},
    [APPEND_NOT_SENT] = {COPY_PENDING, true, OUTCOME_MAILBOX},
    [APPEND_UNAVAILABLE] = {COPY_PENDING, true, OUTCOME_MAILBOX},
    [APPEND_NO_MAILBOX] = {COPY_PENDING, true, OUTCOME_TROUBLE},
    [APPEND_OVERQUOTA] = {COPY_PENDING, true, OUTCOME_OVERQUOTA_DEFER},
    [APPEND_TOOBIG] = {COPY_FAILED, true, OUTCOME_TOO_LARGE},
    [APPEND_NOPERM] = {COPY_PENDING, true, OUTCOME_TROUBLE},
};

static void feed_candidate(void *context, const void *bytes, size_t size)
{
    message_comparison_feed(context, bytes, size);
}

static enum candidate end_candidate(void *context)
{
    static const enum candidate candidates[] = {
        [MESSAGE_OTHER] = CANDIDATE_OTHER, [MESSAGE_SIMILAR] = CANDIDATE_SIMILAR, [MESSAGE_SAME] = CANDIDATE_SAME,
    };
    return candidates[message_comparison_end(context)];
}

/* The mailbox is looked into for a copy that an earlier attempt may have made, and, for Sent, for one that anybody
 * filed under this Message-ID. */
static bool to_search(const struct delivery_work *work, const struct ledger_copy *copy)
{
    bool by_id = copy->role == COPY_SENT && work->delivery->message->message_id != NULL;
    return copy->doubt || by_id || work->delivery->config->imap.search == IMAP_SEARCH_ALWAYS;
}

static enum search_result search_copy(struct delivery_work *work, struct ledger_copy *copy, struct fault *fault)
{
    const struct config *config = work->delivery->config;
    const struct message *message = work->delivery->message;
    bool by_id = copy->role == COPY_SENT && message->message_id != NULL;
    struct message_comparison *comparison OD_CLEANUP(message_comparison_free) =
        by_id ? message_comparison_new_id(message)
              : message_comparison_new(message, (const char *const *)config->identity.ignore);
    bool searchable = message->message_id != NULL &&
                      mailbox_searchable(message->message_id, message->message_id_length, message->message_id_folded);
    bool sized = !by_id && !searchable && message->content_size > 1;
    const struct search search = {
        .mailbox = copy->mailbox,
        .message_id = searchable ? message->message_id : NULL,
        .internal_date = work->claim.received_at,
        .smallest = sized ? (int64_t)message->content_size / 2 : 0,
        .largest = sized ? (int64_t)message->size + TRANSPORT_MOST : 0,
        .newest = by_id && !copy->doubt ? SENT_NEWEST : 0,
        .header_only = by_id,
        .feed = feed_candidate,
        .end = end_candidate,
        .context = comparison,
    };
    return mailbox_search(config, copy->account, &search, &copy->new_uidvalidity, &copy->new_uid,
                          fault);
}

/* A reader that goes even now may have cut the message short: it is neither stored nor ever resumed. */
static bool still_wanted(void *context)
{
    struct delivery_work *work = context;
    bool gone = work->delivery->reader_gone != NULL && work->delivery->reader_gone();
    if (gone)
        work->whole = false;
    return !gone;
}

/* The server says that it does not take this content; Postfix is told so only after reject_after. */
static enum outcome refused(const struct delivery_work *work, const struct ledger_copy *copy)
{
    return copy->first_age_ms >= work->delivery->config->delivery.reject_after ? OUTCOME_REFUSED_BOUNCE
                                                                              : OUTCOME_REFUSED_DEFER;
}

static enum outcome final_outcome(const struct delivery_work *work, const struct ledger_copy *copy,
                                  enum append_result result)
{
    enum outcome outcome = meanings[result].outcome;
    if (outcome == OUTCOME_REFUSED_DEFER)
        return refused(work, copy);
    if (result == APPEND_OVERQUOTA && work->delivery->config->delivery.overquota == OVERQUOTA_BOUNCE)
        return OUTCOME_OVERQUOTA_BOUNCE;
    return outcome;
}

/* Writes down an APPEND's result. `absent`: this attempt has looked, and the copy was not there before. */
static void take_result(struct delivery_work *work, struct ledger_copy *copy, enum append_result result, bool absent,
                        const struct fault *fault, struct report *report)
{
    enum outcome outcome = final_outcome(work, copy, result);
    copy->new_state = meanings[result].state;
    copy->new_doubt = result != APPEND_STORED && (!meanings[result].certain || (copy->doubt && !absent));
    if (outcome_row(outcome)->final && result != APPEND_STORED)
        copy->new_state = COPY_FAILED;
    if (result == APPEND_STORED) {
        report_set(report, OUTCOME_STORED, "stored uid=%u mailbox=%s", copy->new_uid, copy->mailbox);
        return;
    }
    report_set(report, outcome, "%s", fault->text);
    strcpy(copy->error, report->text);
}

static void append(struct delivery_work *work, struct ledger_copy *copy, const struct iovec *pieces, size_t count,
                   bool absent, struct report *report)
{
    struct fault fault;
    const struct append request = {
        .mailbox = copy->mailbox,
        .seen = copy->role == COPY_SENT,
        .internal_date = work->claim.received_at,
        .pieces = pieces,
        .piece_count = count,
        .wanted = still_wanted,
        .context = work,
    };
    enum append_result result = APPEND_NOT_SENT;
    struct mailbox *mailbox = NULL;
    if (copy == work->unreachable)
        fault = work->unreachable_fault;
    else
        mailbox = sessions_get(work->delivery->sessions, copy->account, &fault);
    if (mailbox != NULL)
        result = mailbox_append(mailbox, &request, &copy->new_uidvalidity, &copy->new_uid, &fault);
    if (result == APPEND_UNKNOWN || result == APPEND_NOT_SENT)
        sessions_drop(work->delivery->sessions, copy->account);
    take_result(work, copy, result, absent, &fault, report);
}

void append_copy(struct delivery_work *work, struct ledger_copy *copy, struct report *report)
{
    size_t count, size;
    struct fault fault;
    struct iovec *pieces OD_CLEANUP(base_free) =
        message_pieces(work->delivery->message, copy->role == COPY_SENT, &count, &size);
    copy->error[0] = '\0';
    copy->new_uidvalidity = copy->new_uid = 0;
    if (!to_search(work, copy)) {
        append(work, copy, pieces, count, false, report);
        return;
    }
    switch (search_copy(work, copy, &fault)) {
    case SEARCH_FOUND:
        copy->new_state = COPY_STORED;
        copy->new_doubt = false;
        if (copy->state == COPY_STORED)
            report_set(report, OUTCOME_DUPLICATE, "duplicate uid=%u mailbox=%s (found there)", copy->new_uid, copy->mailbox);
        else
            report_set(report, OUTCOME_STORED, "stored uid=%u mailbox=%s (found there)", copy->new_uid, copy->mailbox);
        break;
    case SEARCH_ABSENT:
        append(work, copy, pieces, count, true, report);
        break;
    case SEARCH_TROUBLE:    /* never taken for absent */
        take_result(work, copy, APPEND_NOT_SENT, false, &fault, report);
        break;
    }
}
