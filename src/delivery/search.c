/* SPDX-License-Identifier: ISC */
#include "delivery/search.h"

#include <string.h>

#include "decode/notice.h"
#include "delivery/append.h"
#include "message/message_comparison.h"

#define SENT_NEWEST 500 /* messages of Sent that are compared by Message-ID */

/* An earlier attempt may have stored other transport fields; servers that count a line end as one byte report half of
 * the size. No MTA passes on a header over 1 MiB (Exim, header_maxsize; Postfix 100 KiB). */
#define TRANSPORT_MAX (1024 * 1024)

static void feed_message(void *context, const void *bytes, size_t size)
{
    message_comparison_feed(context, bytes, size);
}

static enum candidate classify_message(void *context)
{
    static const enum candidate candidates[] = {
        [MESSAGE_OTHER] = CANDIDATE_OTHER,
        [MESSAGE_SIMILAR] = CANDIDATE_SIMILAR,
        [MESSAGE_SAME] = CANDIDATE_SAME,
    };
    return candidates[message_comparison_end(context)];
}

static void feed_notice(void *context, const void *bytes, size_t size)
{
    notice_comparison_feed(context, bytes, size);
}

static enum candidate classify_notice(void *context)
{
    return notice_comparison_end(context) ? CANDIDATE_SAME : CANDIDATE_OTHER;
}

static struct search_reader message_reader(struct message_comparison *comparison)
{
    return (struct search_reader){
        .feed = comparison != NULL ? feed_message : NULL,
        .end = classify_message,
        .context = comparison,
    };
}

static const char *const *ignored_fields(const struct delivery_work *work)
{
    return (const char *const *)work->request->config->identity.ignore_headers;
}

static bool is_searchable(const struct message *message)
{
    return message->message_id != NULL &&
           mailbox_searchable(message->message_id, message->message_id_length, message->message_id_folded);
}

static enum search_result search_message(struct mailbox *mailbox, const struct delivery_work *work,
                                         const struct append_item *item, struct copy_result *result,
                                         struct error *error)
{
    const struct message *message = work->request->message;
    const struct plan_target *plan = &work->plan->targets[item->target];
    bool sent = work->targets.list[item->target].role == COPY_SENT && message->message_id != NULL;
    bool by_id = sent ||
                 (message->message_id != NULL &&
                  (work->request->id_only || target_server(work, item->target)->imap.match == IMAP_MATCH_MESSAGE_ID));
    bool doubt = plan->doubt || plan->sibling || plan->same_mailbox; /* our copy may be there */
    bool newest_only = sent && !doubt;                               /* otherwise it may be older */
    bool has_ids = by_id || is_searchable(message), sized = !has_ids && message->content_size > 1;
    struct message_comparison *complete OD_CLEANUP(message_comparison_free) =
        by_id ? NULL : message_comparison_new(message, ignored_fields(work));
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = has_ids ? message_comparison_new_id(message)
                                                                                 : NULL;
    const struct search search = {
        .mailbox = append_item_mailbox(work, item),
        .message_id = is_searchable(message) && !newest_only ? message->message_id : NULL,
        .internal_date = work->found->received_at,
        .smallest = sized ? (int64_t)message->content_size / 2 : 1,
        .largest = sized ? (int64_t)message->size + TRANSPORT_MAX : 0,
        .newest = sent ? SENT_NEWEST : 0,
        .newest_only = newest_only,
        .by_id = by_id,
        .doubt = doubt,
        .complete = message_reader(complete),
        .ids = message_reader(ids),
    };
    return mailbox_search(mailbox, &search, &result->uidvalidity, &result->uid, error);
}

/* An earlier attempt, or a sibling copy, may have left a notice. */
static bool may_be_explained(const struct delivery_work *work, size_t target)
{
    const struct config *config = target_server(work, target);
    const struct plan_target *plan = &work->plan->targets[target];
    bool possible = plan->doubt || plan->sibling || config->imap.search == IMAP_SEARCH_ALWAYS;
    return config->delivery.refused == REJECTED_QUARANTINE && possible;
}

static enum search_result search_notice(struct mailbox *mailbox, const struct delivery_work *work,
                                        const struct append_item *item, struct copy_result *result, struct error *error)
{
    const struct message *message = work->request->message;
    char *id OD_CLEANUP(base_free) = notice_id(work->request->config->lock.namespace, message);
    struct notice_comparison *comparison OD_CLEANUP(notice_comparison_free) =
        notice_comparison_new(message, ignored_fields(work));
    const struct message named = {.message_id = id, .message_id_length = strlen(id)};
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = message_comparison_new_id(&named);
    const struct search search = {
        .mailbox = append_item_mailbox(work, item),
        .message_id = id,
        .internal_date = work->found->received_at,
        .smallest = 1,
        .doubt = true,
        .complete = {.feed = feed_notice, .end = classify_notice, .context = comparison},
        .ids = message_reader(ids),
    };
    return mailbox_search(mailbox, &search, &result->uidvalidity, &result->uid, error);
}

/* In doubt the search must not depend on an earlier view. Verification may: another search precedes the APPEND. */
static struct mailbox *take_session(const struct delivery_work *work, size_t target, bool *ret_reused,
                                    struct error *error)
{
    return sessions_acquire(work->request->sessions, target_server(work, target), work->targets.list[target].account,
                            work->plan->targets[target].doubt && !work->read_only ? SESSIONS_NEW : SESSIONS_REUSED, 0,
                            ret_reused, error);
}

void search_open(struct delivery_work *work, size_t target)
{
    struct append_op *it = &work->appends[target];
    it->unreachable = take_session(work, target, &it->reused, &it->error) == NULL;
    if (!it->unreachable)
        sessions_release(work->request->sessions, target_server(work, target), work->targets.list[target].account);
}

static enum search_result search_once(const struct delivery_work *work, const struct append_item *item,
                                      struct copy_result *result, bool *ret_reused, struct error *error)
{
    struct sessions *sessions = work->request->sessions;
    const struct config *server = target_server(work, item->target);
    const char *account = work->targets.list[item->target].account;
    *ret_reused = false;
    struct mailbox *mailbox = take_session(work, item->target, ret_reused, error);
    if (mailbox == NULL)
        return SEARCH_ERROR;
    enum search_result status = search_message(mailbox, work, item, result, error);
    if (status == SEARCH_ABSENT && may_be_explained(work, item->target)) {
        status = search_notice(mailbox, work, item, result, error);
        result->quarantine = status == SEARCH_FOUND ? QUARANTINE_STORED : QUARANTINE_NONE;
    }
    if (status == SEARCH_ERROR)
        sessions_discard(sessions, server, account);
    else
        sessions_release(sessions, server, account);
    return status;
}

/* Replaces a failing reused session once. */
static enum search_result search_twice(const struct delivery_work *work, const struct append_item *item,
                                       struct copy_result *result, struct error *error)
{
    const struct append_op *it = &work->appends[item->target];
    enum search_result status;
    bool reused;
    if (it->unreachable) {
        *error = it->error;
        return SEARCH_ERROR;
    }
    do
        status = search_once(work, item, result, &reused, error);
    while (status == SEARCH_ERROR && reused && append_fits_deadline(work, item->target));
    return status;
}

static void report_found(const struct delivery_work *work, const struct append_item *item, struct copy_result *result)
{
    bool known = work->found->copies[item->target].state == COPY_STORED;
    bool explained = result->quarantine == QUARANTINE_STORED;
    enum outcome stored = explained ? OUTCOME_QUARANTINED : OUTCOME_STORED;
    result->state = COPY_STORED;
    result->fallback = item->fallback;
    report_set(&result->report, known ? OUTCOME_DUPLICATE : stored, "%s uid=%u mailbox=%s (found there%s)",
               known ? "duplicate" : "stored", result->uid, append_item_mailbox(work, item),
               explained ? ", quarantined" : "");
}

enum search_result search_copy(struct delivery_work *work, const struct append_item *item, struct copy_result *result)
{
    struct copy_result found = {.state = COPY_PENDING};
    struct error error;
    enum search_result status = search_twice(work, item, &found, &error);
    if (status == SEARCH_FOUND)
        report_found(work, item, &found);
    else if (status == SEARCH_ERROR) /* must not count as absent */
        copy_result_of_append(work, item, APPEND_NOT_SENT, &error, &found);
    if (status != SEARCH_ABSENT)
        *result = found;
    return status;
}

enum absence search_absence(struct delivery_work *work, size_t target, struct error *error)
{
    const struct message *message = work->request->message;
    const struct ledger_copy_state *found = &work->found->copies[target];
    const struct ledger_target *it = &work->targets.list[target];
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) =
        message->message_id != NULL ? message_comparison_new_id(message) : NULL;
    const struct search search = {.mailbox = it->mailbox, .by_id = true, .ids = message_reader(ids)};
    bool reused;
    struct mailbox *mailbox = take_session(work, target, &reused, error);
    if (mailbox == NULL)
        return ABSENCE_ERROR;
    enum absence absence = mailbox_absence(mailbox, &search, (uint32_t)found->uidvalidity, (uint32_t)found->uid, error);
    if (absence == ABSENCE_ERROR)
        sessions_discard(work->request->sessions, target_server(work, target), it->account);
    else
        sessions_release(work->request->sessions, target_server(work, target), it->account);
    return absence;
}
