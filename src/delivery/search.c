/* SPDX-License-Identifier: ISC */
#include "delivery/search.h"

#include <string.h>

#include "decode/explanation.h"
#include "delivery/append.h"
#include "message/message_comparison.h"

#define SENT_NEWEST 500 /* messages of Sent that are compared by Message-ID */

/* An earlier attempt may have stored other transport fields; servers that count a line end as one byte report half of
 * the size. No MTA passes on a header over 1 MiB (Exim, header_maxsize; Postfix 100 KiB). */
#define TRANSPORT_MOST (1024 * 1024)

static void feed_message(void *context, const void *bytes, size_t size)
{
    message_comparison_feed(context, bytes, size);
}

static enum candidate judge_message(void *context)
{
    static const enum candidate candidates[] = {
        [MESSAGE_OTHER] = CANDIDATE_OTHER,
        [MESSAGE_SIMILAR] = CANDIDATE_SIMILAR,
        [MESSAGE_SAME] = CANDIDATE_SAME,
    };
    return candidates[message_comparison_end(context)];
}

static void feed_explanation(void *context, const void *bytes, size_t size)
{
    explanation_comparison_feed(context, bytes, size);
}

static enum candidate judge_explanation(void *context)
{
    return explanation_comparison_end(context) ? CANDIDATE_SAME : CANDIDATE_OTHER;
}

static struct search_reader message_reader(struct message_comparison *comparison)
{
    return (struct search_reader){
        .feed = comparison != NULL ? feed_message : NULL,
        .end = judge_message,
        .context = comparison,
    };
}

static const char *const *ignored_fields(const struct delivery_work *work)
{
    return (const char *const *)work->request->config->identity.ignore;
}

static bool is_searchable(const struct message *message)
{
    return message->message_id != NULL &&
           mailbox_searchable(message->message_id, message->message_id_length, message->message_id_folded);
}

static enum search_result search_message(struct mailbox *mailbox, const struct delivery_work *work,
                                         const struct letter *letter, struct made *made, struct fault *fault)
{
    const struct message *message = work->request->message;
    const struct plan_target *plan = &work->plan->targets[letter->target];
    bool sent = work->targets.list[letter->target].role == COPY_SENT && message->message_id != NULL;
    bool by_id = sent ||
                 (message->message_id != NULL &&
                  (work->request->id_only || target_server(work, letter->target)->imap.match == IMAP_MATCH_MESSAGE_ID));
    bool newest_only = sent && !plan->doubt && !plan->alias; /* otherwise our copy may be older */
    bool has_ids = by_id || is_searchable(message), sized = !has_ids && message->content_size > 1;
    struct message_comparison *whole OD_CLEANUP(message_comparison_free) =
        by_id ? NULL : message_comparison_new(message, ignored_fields(work));
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = has_ids ? message_comparison_new_id(message)
                                                                                 : NULL;
    const struct search search = {
        .mailbox = letter_mailbox(work, letter),
        .message_id = is_searchable(message) && !newest_only ? message->message_id : NULL,
        .internal_date = work->found->received_at,
        .smallest = sized ? (int64_t)message->content_size / 2 : 1,
        .largest = sized ? (int64_t)message->size + TRANSPORT_MOST : 0,
        .newest = sent ? SENT_NEWEST : 0,
        .newest_only = newest_only,
        .by_id = by_id,
        .whole = message_reader(whole),
        .ids = message_reader(ids),
    };
    return mailbox_search(mailbox, &search, &made->uidvalidity, &made->uid, fault);
}

/* An earlier attempt, or a sibling copy, may have left a notice. */
static bool is_perhaps_explained(const struct delivery_work *work, size_t target)
{
    const struct config *config = target_server(work, target);
    const struct plan_target *plan = &work->plan->targets[target];
    bool perhaps = plan->doubt || plan->beside || config->imap.search == IMAP_SEARCH_ALWAYS;
    return config->delivery.rejected == REJECTED_QUARANTINE && perhaps;
}

static enum search_result search_explanation(struct mailbox *mailbox, const struct delivery_work *work,
                                             const struct letter *letter, struct made *made, struct fault *fault)
{
    const struct message *message = work->request->message;
    char *id OD_CLEANUP(base_free) = explanation_id(work->request->config->lock.namespace, message);
    struct explanation_comparison *comparison OD_CLEANUP(explanation_comparison_free) =
        explanation_comparison_new(message, ignored_fields(work));
    const struct message named = {.message_id = id, .message_id_length = strlen(id)};
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = message_comparison_new_id(&named);
    const struct search search = {
        .mailbox = letter_mailbox(work, letter),
        .message_id = id,
        .internal_date = work->found->received_at,
        .smallest = 1,
        .whole = {.feed = feed_explanation, .end = judge_explanation, .context = comparison},
        .ids = message_reader(ids),
    };
    return mailbox_search(mailbox, &search, &made->uidvalidity, &made->uid, fault);
}

/* In doubt the search must not depend on an earlier view. Verification may: another search precedes the APPEND. */
static struct mailbox *take_session(const struct delivery_work *work, size_t target, bool *ret_kept,
                                    struct fault *fault)
{
    return sessions_take(work->request->sessions, target_server(work, target), work->targets.list[target].account,
                         work->plan->targets[target].doubt && !work->looking ? SESSIONS_NEW : SESSIONS_KEPT, 0,
                         ret_kept, fault);
}

void search_open(struct delivery_work *work, size_t target)
{
    struct appending *it = &work->appends[target];
    it->unreachable = take_session(work, target, &it->kept, &it->fault) == NULL;
    if (!it->unreachable)
        sessions_give_back(work->request->sessions, target_server(work, target), work->targets.list[target].account);
}

static enum search_result search_once(const struct delivery_work *work, const struct letter *letter, struct made *made,
                                      bool *ret_kept, struct fault *fault)
{
    struct sessions *sessions = work->request->sessions;
    const struct config *server = target_server(work, letter->target);
    const char *account = work->targets.list[letter->target].account;
    *ret_kept = false;
    struct mailbox *mailbox = take_session(work, letter->target, ret_kept, fault);
    if (mailbox == NULL)
        return SEARCH_TROUBLE;
    enum search_result result = search_message(mailbox, work, letter, made, fault);
    if (result == SEARCH_ABSENT && is_perhaps_explained(work, letter->target)) {
        result = search_explanation(mailbox, work, letter, made, fault);
        made->quarantine = result == SEARCH_FOUND ? QUARANTINE_STORED : QUARANTINE_NONE;
    }
    if (result == SEARCH_TROUBLE)
        sessions_drop(sessions, server, account);
    else
        sessions_give_back(sessions, server, account);
    return result;
}

/* Replaces a failing reused session once. */
static enum search_result search_twice(const struct delivery_work *work, const struct letter *letter, struct made *made,
                                       struct fault *fault)
{
    const struct appending *it = &work->appends[letter->target];
    enum search_result result;
    bool kept;
    if (it->unreachable) {
        *fault = it->fault;
        return SEARCH_TROUBLE;
    }
    do
        result = search_once(work, letter, made, &kept, fault);
    while (result == SEARCH_TROUBLE && kept && made_in_time(work, letter->target));
    return result;
}

static void report_found(const struct delivery_work *work, const struct letter *letter, struct made *made)
{
    bool known = work->found->copies[letter->target].state == COPY_STORED;
    bool explained = made->quarantine == QUARANTINE_STORED;
    enum outcome stored = explained ? OUTCOME_QUARANTINED : OUTCOME_STORED;
    made->state = COPY_STORED;
    made->fallback = letter->fallback;
    report_set(&made->report, known ? OUTCOME_DUPLICATE : stored, "%s uid=%u mailbox=%s (found there%s)",
               known ? "duplicate" : "stored", made->uid, letter_mailbox(work, letter),
               explained ? ", quarantined" : "");
}

enum search_result search_copy(struct delivery_work *work, const struct letter *letter, struct made *made)
{
    struct made found = {.state = COPY_PENDING};
    struct fault fault;
    enum search_result result = search_twice(work, letter, &found, &fault);
    if (result == SEARCH_FOUND)
        report_found(work, letter, &found);
    else if (result == SEARCH_TROUBLE) /* must not count as absent */
        made_by_append(work, letter, APPEND_NOT_SENT, &fault, &found);
    if (result != SEARCH_ABSENT)
        *made = found;
    return result;
}

enum absence search_absence(struct delivery_work *work, size_t target, struct fault *fault)
{
    const struct message *message = work->request->message;
    const struct ledger_found_copy *found = &work->found->copies[target];
    const struct ledger_target *it = &work->targets.list[target];
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) =
        message->message_id != NULL ? message_comparison_new_id(message) : NULL;
    const struct search search = {.mailbox = it->mailbox, .by_id = true, .ids = message_reader(ids)};
    bool kept;
    struct mailbox *mailbox = take_session(work, target, &kept, fault);
    if (mailbox == NULL)
        return ABSENCE_TROUBLE;
    enum absence absence = mailbox_absence(mailbox, &search, (uint32_t)found->uidvalidity, (uint32_t)found->uid, fault);
    if (absence == ABSENCE_TROUBLE)
        sessions_drop(work->request->sessions, target_server(work, target), it->account);
    else
        sessions_give_back(work->request->sessions, target_server(work, target), it->account);
    return absence;
}
