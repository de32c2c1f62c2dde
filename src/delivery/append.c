/* SPDX-License-Identifier: ISC
 *
 * One copy: the meaning of each result of APPEND, and the search before it. */
#include "delivery/append.h"

#include "base/deadline.h"
#include "delivery/fallback.h"
#include "delivery/quarantine.h"

#define SENT_NEWEST 500 /* how many messages back the Sent mailbox is searched for the Message-ID */

/* A message in doubt may be there as another try delivered it, with other transport fields of unknown size; and servers
 * that count a line end as one byte report little more than half of the size. But no MTA passes on a header larger than
 * 1 MiB (Exim, header_maxsize; Postfix 100 KiB). */
#define TRANSPORT_MOST (1024 * 1024)

/* What a result of APPEND means. Only what refers to this message or this mailbox may ever bounce: REFUSED and LIMIT
 * after reject_after, OVERQUOTA if so configured, TOOBIG. A Sent copy becomes `failed` instead. */
static const struct {
    enum copy_state state;
    bool certain; /* this attempt stored nothing: doubt stays as before, or is cleared by a search that found nothing */
    enum outcome outcome;
} meanings[] = {
    [APPEND_UNKNOWN] = {COPY_APPENDING, false, OUTCOME_MAILBOX},
    [APPEND_TROUBLE] = {COPY_PENDING, false, OUTCOME_MAILBOX},
    [APPEND_REFUSED] = {COPY_PENDING, false, OUTCOME_REFUSED_DEFER},
    [APPEND_LIMIT] = {COPY_PENDING, false, OUTCOME_REFUSED_DEFER},
    [APPEND_PERHAPS_OVERQUOTA] = {COPY_PENDING, false, OUTCOME_OVERQUOTA_DEFER},
    [APPEND_STORED] = {COPY_STORED, true, OUTCOME_STORED},
    [APPEND_LOST] = {COPY_PENDING, true, OUTCOME_MAILBOX},
    [APPEND_NOT_SENT] = {COPY_PENDING, true, OUTCOME_MAILBOX},
    [APPEND_UNAVAILABLE] = {COPY_PENDING, true, OUTCOME_MAILBOX},
    [APPEND_NO_MAILBOX] = {COPY_PENDING, true, OUTCOME_TROUBLE},
    [APPEND_NEVER] = {COPY_PENDING, true, OUTCOME_TROUBLE},
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
        [MESSAGE_OTHER] = CANDIDATE_OTHER,
        [MESSAGE_SIMILAR] = CANDIDATE_SIMILAR,
        [MESSAGE_SAME] = CANDIDATE_SAME,
    };
    return candidates[message_comparison_end(context)];
}

/* Whether the Message-ID alone decides. */
static bool is_by_id(const struct delivery_work *work, size_t place)
{
    return work->targets.list[place].role == COPY_SENT && work->delivery->message->message_id != NULL;
}

static bool is_searchable(const struct message *message)
{
    return message->message_id != NULL &&
           mailbox_searchable(message->message_id, message->message_id_length, message->message_id_folded);
}

struct search_reader append_reader(struct message_comparison *comparison)
{
    return (struct search_reader){
        .feed = comparison != NULL ? feed_candidate : NULL,
        .end = end_candidate,
        .context = comparison,
    };
}

/* whole: for the whole candidate; ids: for its Message-ID fields. Either may be NULL. The size matters only where no id
 * tells other messages apart. */
static struct search search_of(const struct delivery_work *work, size_t place, struct message_comparison *whole,
                               struct message_comparison *ids)
{
    const struct message *message = work->delivery->message;
    const struct plan_target *plan = &work->plan->targets[place];
    bool by_id = is_by_id(work, place);
    bool newest_only = by_id && !plan->doubt && !plan->alias; /* otherwise we may have stored it long ago */
    bool sized = ids == NULL && message->content_size > 1;
    return (struct search){
        .mailbox = append_mailbox(work, place),
        .message_id = is_searchable(message) && !newest_only ? message->message_id : NULL,
        .internal_date = work->found->received_at,
        .smallest = sized ? (int64_t)message->content_size / 2 : 1,
        .largest = sized ? (int64_t)message->size + TRANSPORT_MOST : 0,
        .newest = by_id ? SENT_NEWEST : 0,
        .newest_only = newest_only,
        .by_id = by_id,
        .whole = append_reader(whole),
        .ids = append_reader(ids),
    };
}

/* For the copy, then for its explanation. *ret_kept: the session was from an earlier delivery. In doubt it must be new to
 * this one: what it finds then depends on no view from before. */
static enum search_result search_once(const struct delivery_work *work, size_t place, struct made *made, bool *ret_kept,
                                      struct fault *fault)
{
    const struct delivery *delivery = work->delivery;
    const char *account = work->targets.list[place].account;
    bool by_id = is_by_id(work, place);
    enum sessions_age age = work->plan->targets[place].doubt ? SESSIONS_NEW : SESSIONS_KEPT;
    struct message_comparison *whole OD_CLEANUP(message_comparison_free) = NULL;
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = NULL;
    *ret_kept = false;
    struct mailbox *mailbox = sessions_take(delivery->sessions, account, age, 0, ret_kept, fault);
    if (mailbox == NULL)
        return SEARCH_TROUBLE;
    if (!by_id)
        whole = message_comparison_new(delivery->message, (const char *const *)delivery->config->identity.ignore);
    if (by_id || is_searchable(delivery->message))
        ids = message_comparison_new_id(delivery->message);
    const struct search search = search_of(work, place, whole, ids);
    enum search_result result = mailbox_search(mailbox, &search, &made->uidvalidity, &made->uid, fault);
    if (result == SEARCH_ABSENT)
        result = quarantine_search(mailbox, work, place, made, fault);
    if (result == SEARCH_TROUBLE)
        sessions_drop(delivery->sessions, account);
    else
        sessions_give_back(delivery->sessions, account);
    return result;
}

/* A kept session that fails is replaced once. */
static enum search_result search_copy(const struct delivery_work *work, size_t place, struct made *made,
                                      struct fault *fault)
{
    const struct append_ahead *ahead = &work->ahead[place];
    enum search_result result;
    bool kept;
    if (ahead->unreachable) {
        *fault = ahead->fault;
        return SEARCH_TROUBLE;
    }
    do
        result = search_once(work, place, made, &kept, fault);
    while (result == SEARCH_TROUBLE && kept && append_in_time(work->delivery->config));
    return result;
}

/* An explanation of ours that is refused is no reason to return the message: it is not what was sent. */
static enum outcome explanation_outcome(enum append_result result)
{
    enum outcome outcome = meanings[result].outcome;
    return outcome == OUTCOME_TOO_LARGE ? OUTCOME_REFUSED_DEFER : outcome;
}

/* The server does not accept this content; we bounce or quarantine it only after reject_after. */
static enum outcome content_refused(const struct delivery_work *work, size_t place, struct made *made)
{
    bool quarantine = work->delivery->config->delivery.rejected == REJECTED_QUARANTINE;
    bool time = quarantine_is_time(work, place);
    made->quarantine = quarantine && time ? QUARANTINE_DUE : QUARANTINE_NONE;
    return time && !quarantine ? OUTCOME_REFUSED_BOUNCE : OUTCOME_REFUSED_DEFER;
}

static enum outcome final_outcome(const struct delivery_work *work, size_t place, enum append_result result,
                                  struct made *made)
{
    enum outcome outcome = meanings[result].outcome;
    if (work->ahead[place].instead != NULL)
        return explanation_outcome(result);
    if (outcome == OUTCOME_REFUSED_DEFER)
        return content_refused(work, place, made);
    if (result == APPEND_OVERQUOTA && work->delivery->config->delivery.overquota == OVERQUOTA_BOUNCE)
        return OUTCOME_OVERQUOTA_BOUNCE;
    return outcome;
}

void append_take_result(const struct delivery_work *work, size_t place, enum append_result result, bool doubt,
                        const struct fault *fault, struct made *made)
{
    enum outcome outcome = final_outcome(work, place, result, made);
    if (result == APPEND_STORED) {
        made->state = COPY_STORED;
        made->filed = work->ahead[place].fallback;
        made->quarantine = work->ahead[place].instead != NULL ? QUARANTINE_STORED : QUARANTINE_NONE;
        report_set(&made->report, OUTCOME_STORED, "stored uid=%u mailbox=%s", made->uid, append_mailbox(work, place));
        return;
    }
    made->never = result == APPEND_NEVER;
    made->state = outcome_row(outcome)->final                ? COPY_FAILED
                  : meanings[result].state == COPY_APPENDING ? COPY_APPENDING
                                                             : COPY_PENDING;
    made->doubt = !meanings[result].certain || doubt;
    report_set(&made->report, outcome, "%s", fault->text);
}

/* The copy was found in the mailbox. */
static void report_found(const struct delivery_work *work, size_t place, struct made *made)
{
    bool known = work->found->copies[place].state == COPY_STORED;
    bool explained = made->quarantine == QUARANTINE_STORED;
    enum outcome stored = explained ? OUTCOME_QUARANTINED : OUTCOME_STORED;
    made->state = COPY_STORED;
    made->filed = work->ahead[place].fallback;
    report_set(&made->report, known ? OUTCOME_DUPLICATE : stored, "%s uid=%u mailbox=%s (found there%s)",
               known ? "duplicate" : "stored", made->uid, append_mailbox(work, place),
               explained ? ", quarantined" : "");
}

bool append_in_time(const struct config *config)
{
    int64_t silent = config->imap.timeout < config->delivery.deadline / 2 ? config->imap.timeout
                                                                          : config->delivery.deadline / 2;
    return deadline_left_ms() >= silent + config->delivery.deadline / 10;
}

enum search_result append_search(struct delivery_work *work, size_t place, bool doubt, struct made *made)
{
    struct made found = {.state = COPY_PENDING};
    struct fault fault;
    enum search_result result = search_copy(work, place, &found, &fault);
    if (result == SEARCH_FOUND)
        report_found(work, place, &found);
    else if (result == SEARCH_TROUBLE) /* must not count as absent */
        append_take_result(work, place, APPEND_NOT_SENT, doubt, &fault, &found);
    if (result != SEARCH_ABSENT)
        *made = found;
    return result;
}

struct made append_now(struct delivery_work *work, size_t place, bool doubt)
{
    if (!work->ahead[place].begun)
        append_begin(work, place, SESSIONS_KEPT, 0);
    int64_t until = base_now_ms() + work->delivery->config->imap.timeout;
    append_feed(work, place, until);
    return append_collect(work, place, until, true, doubt);
}

struct made append_copy(struct delivery_work *work, size_t place)
{
    struct made made = {.state = COPY_PENDING};
    bool doubt = work->plan->targets[place].doubt;
    if (work->plan->targets[place].action == PLAN_APPEND)
        return append_now(work, place, doubt);
    if (append_search(work, place, doubt, &made) == SEARCH_ABSENT && fallback_search(work, place, &doubt, &made))
        made = append_now(work, place, doubt);
    return made;
}

struct ledger_made append_settled(size_t target, const struct made *made)
{
    bool explained = made->state != COPY_STORED || made->filed != NULL || made->quarantine == QUARANTINE_STORED;
    return (struct ledger_made){
        .target = target,
        .state = made->state,
        .doubt = made->doubt,
        .uidvalidity = made->filed == NULL ? made->uidvalidity : 0, /* the ledger's are those of the target's mailbox */
        .uid = made->filed == NULL ? made->uid : 0,
        .error = explained && made->report.text[0] != '\0' ? made->report.text : NULL,
    };
}
