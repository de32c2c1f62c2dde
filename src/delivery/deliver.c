/* SPDX-License-Identifier: ISC
 *
 * The steps of a delivery. The protocol, which stores each copy once:
 *
 *    state    take the message's lock, and read its state from the ledger; skipped if the database can decide whether
 *             the message is new (ledger_claim_if_new)
 *    plan     decide what to do about each target
 *    claim    COMMIT the copies to be made as `appending`, with a random token; send no message's last byte before
 *    hold     take the lock again, and check that each copy has our token
 *    append   send the message, or the byte that is missing; if the copy is in doubt, search the mailbox first
 *    settle   COMMIT the results: the commit point; report success only then
 *
 * A delivery that dies leaves `appending`. Others leave that copy alone until the hold-off is over, since the server may still
 * store it. The next one claims it in doubt. The Sent copy is appended and settled after the recipients' copies. Each
 * step reports its failures. */

#include <string.h>

#include "base/log.h"
#include "delivery/delivery_internal.h"

static void report_without_sandbox(int errnum)
{
    static bool reported;
    if (errnum == 0 || reported)
        return;
    reported = true;
    log_info("the decoder runs without sandbox: cannot set a filter of its system calls: %s", strerror(errnum));
}

/* Waits before the lock is taken, so that slow decoding blocks no other delivery. Returns false, with reports, if it
 * was cut off. */
static bool wait_for_decoding(struct delivery_work *work)
{
    struct decoding *decoding = work->delivery->decoding;
    decoding_result(decoding);
    const char *error = decoding_error(decoding), *id = work->targets.message_id;
    char escaped_id[512], text[512];
    report_without_sandbox(decoding_without_sandbox(decoding));
    if (decoding_must_be_retried(decoding))
        reply_rest(work, OUTCOME_TEMPFAIL, error);
    else if (error != NULL)
        log_warning("%s: message-id=<%s>: recorded only in part: %s", delivery_queue_id(work->request),
                    log_escape_field(id != NULL ? id : "", escaped_id, sizeof(escaped_id)),
                    log_escape_text(error, text, sizeof(text)));
    delivery_add_time(work->delivery, PHASE_READ);
    return !decoding_must_be_retried(decoding);
}

static bool read_state(struct delivery_work *work)
{
    struct error error = {.text = ""};
    delivery_backoff_ask(work);
    enum ledger_result result = ledger_read_state(work->delivery->ledger, &work->targets.message, &work->found, &error);
    if (result == LEDGER_OK)
        delivery_backoff_learn(work);
    if (result == LEDGER_BUSY)
        work->delivery->holder = ledger_holder(work->delivery->ledger);
    delivery_add_time(work->delivery, PHASE_LOCK);
    if (result == LEDGER_BUSY)
        reply_busy(work);
    else if (result == LEDGER_ERROR)
        reply_rest(work, OUTCOME_DATABASE, error.text);
    return result == LEDGER_OK;
}

static bool is_always_searched(const struct delivery_work *work)
{
    bool always = false;
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        always |= target_server(work, i)->imap.search == IMAP_SEARCH_ALWAYS;
    return always;
}

static struct plan *plan_now(const struct delivery_work *work)
{
    const struct config *config = work->request->config;
    const struct plan_request request = {
        .redeliver = work->request->redeliver,
        .hold_off = config->delivery.hold_off,
        .search = is_always_searched(work),
        .has_id = work->request->message->message_id != NULL,
        .skipped = work->skipped,
        .targets = work->targets.list,
        .fallbacks = config->route.detail == DETAIL_FOLDER ? work->targets.fallbacks : NULL,
        .target_count = work->targets.message.target_count,
        .recipients = work->targets.of_recipient,
        .recipient_count = work->request->recipient_count,
    };
    return plan_make(work->found, &request);
}

/* Also reports recipients that need nothing. With verification, a first plan says what to verify, and a second one uses
 * the result. */
static void make_plan(struct delivery_work *work)
{
    size_t count = work->targets.message.target_count;
    work->appends = base_alloc((count + 1) * sizeof(*work->appends));
    work->results = base_alloc((count + 1) * sizeof(*work->results));
    work->plan = plan_now(work);
    if (verify_is_wanted(work->request)) {
        work->skipped = verify_copies(work);
        base_free(&work->plan);
        work->plan = plan_now(work);
    }
    reply_by_plan(work);
}

static void forget_plan(struct delivery_work *work)
{
    base_free(&work->appends);
    base_free(&work->results);
    base_free(&work->plan);
    base_free(&work->found);
    for (size_t i = 0; work->refusals != NULL && i < work->targets.message.target_count; i++)
        base_free(&work->refusals[i]);
    base_free(&work->refusals);
}

/* Claims a message that no delivery has recorded, without reading its state before: a round trip less. */
static bool claim_if_new(struct delivery_work *work)
{
    char *server OD_CLEANUP(base_free) = NULL;
    if (ledger_in_process(work->delivery->ledger) || work->request->dry_run ||
        work->request->redeliver != REDELIVER_NO || !server_to_verify(work, &server))
        return false;
    delivery_backoff_ask(work);
    work->found = ledger_state_new(&work->targets.message);
    make_plan(work);
    if (inboxes_any(work) || plan_makes_sent(work->plan))
        claim_copies(work, true, server);
    delivery_add_time(work->delivery, PHASE_LOCK);
    if (work->claim == NULL) {
        forget_plan(work);
        if (server != NULL) /* verifying it may take long */
            ledger_unlock(work->delivery->ledger, 0);
        return false;
    }
    delivery_backoff_learn(work);
    server_verified(work);
    return true;
}

static void begin_appends(struct delivery_work *work)
{
    inboxes_begin(work);
    delivery_add_time(work->delivery, PHASE_IMAP);
}

/* Commits the claim; meanwhile opens sessions and begins APPENDs. If the database works in this process, begins one on
 * an open session before. */
static void claim(struct delivery_work *work)
{
    if (work->claim == NULL) {
        if (ledger_in_process(work->delivery->ledger) && inboxes_open(work))
            begin_appends(work);
        claim_copies(work, false, NULL);
    }
    delivery_add_time(work->delivery, PHASE_DATABASE);
    begin_appends(work);
}

static size_t count_busy(const struct delivery *delivery)
{
    size_t count = 0;
    for (size_t i = 0; i < delivery->request->recipient_count; i++)
        count += delivery->replies[i].report.given && delivery->replies[i].report.outcome == OUTCOME_BUSY;
    return count;
}

static void release_claim(struct delivery_work *work, enum ledger_result result)
{
    if (result == LEDGER_CONFLICT)
        ledger_unlock(work->delivery->ledger, count_busy(work->delivery));
    else
        claim_release(work);
}

/* Returns true if the message may be completed now: the lock and each copy are ours. */
static bool hold(struct delivery_work *work)
{
    const struct delivery_request *request = work->request;
    struct delivery *delivery = work->delivery;
    struct error error = {.text = ""};
    enum ledger_result result = ledger_hold(delivery->ledger, work->claim, &error);
    delivery_add_time(delivery, result == LEDGER_BUSY ? PHASE_LOCK : PHASE_DATABASE); /* what it waited for */
    bool gone = request->peer_closed != NULL && request->peer_closed(request->reader);
    work->complete = !gone;
    if (result == LEDGER_OK && !gone)
        return true;
    if (result == LEDGER_OK) {
        error_set(&error, OUTPUT_CUT);
        reply_rest(work, OUTCOME_TEMPFAIL, error.text);
    } else if (result == LEDGER_BUSY) {
        reply_busy(work);
    } else {
        reply_unrecorded(work, result, error.text);
    }
    if (work->plan->sent_waits || plan_makes_sent(work->plan))
        reply_sent(work, OUTCOME_BUSY, result == LEDGER_BUSY ? "it is being delivered elsewhere" : error.text);
    inboxes_cancel(work);
    release_claim(work, result);
    if (result == LEDGER_BUSY)
        delivery->holder = ledger_holder(delivery->ledger);
    return false;
}

static void record_only(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct error error = {.text = ""};
    struct ledger_replies replies OD_CLEANUP(reply_clear) = reply_record(work);
    if (replies.count == 0 || reply_is_recorded(work)) {
        ledger_unlock(delivery->ledger, count_busy(delivery));
        return;
    }
    claim(work);
    enum ledger_result result = ledger_hold(delivery->ledger, work->claim, &error);
    if (result == LEDGER_OK)
        return;
    reply_unrecorded(work, result, error.text);
    release_claim(work, result);
}

static void deliver(struct delivery_work *work)
{
    if (!targets_collect(work->delivery, &work->targets) || !wait_for_decoding(work))
        return;
    if (!claim_if_new(work)) {
        if (!server_identity_verified(work) || !read_state(work))
            return;
        make_plan(work);
    }
    if (work->request->dry_run) {
        reply_preview(work);
        ledger_unlock(work->delivery->ledger, 0);
        return;
    }
    bool inboxes = inboxes_any(work), sent = plan_makes_sent(work->plan);
    if (!inboxes && !sent) {
        record_only(work);
    } else {
        claim(work);
        if (!hold(work))
            return;
        bool sent_held = !inboxes || inboxes_deliver(work);
        if (sent)
            sent_deliver(work, sent_held, !inboxes);
    }
    if (work->plan->sent_waits)
        reply_sent(work, OUTCOME_BUSY, "its last attempt may still be under way");
}

static void work_clear(struct delivery_work *work)
{
    inboxes_cancel(work);
    ledger_claim_free(&work->claim);
    base_free(&work->skipped);
    forget_plan(work);
    targets_clear(&work->targets);
}

void delivery_begin(struct delivery *delivery, struct error *error)
{
    const struct delivery_request *request = delivery->request;
    enum record_level level = request->dry_run ? RECORD_ENVELOPE : request->config->record.level;
    delivery->decoding = decoding_start(request->message, level, error);
}

/* targets.c adds the accounts. */
static void begin_debug(const struct delivery_request *request)
{
    debug_begin(request->queue_id);
    for (size_t i = 0; i < request->recipient_count; i++) {
        debug_concerns(request->recipients[i].address, NULL);
        debug_concerns(request->recipients[i].original, NULL);
    }
}

static void begin_replies(struct delivery *delivery)
{
    if (delivery->replies == NULL)
        delivery->replies = base_alloc((delivery->request->recipient_count + 1) * sizeof(*delivery->replies));
}

void delivery_run(struct delivery *delivery)
{
    const struct delivery_request *request = delivery->request;
    struct delivery_work work OD_CLEANUP(work_clear) = {
        .request = request,
        .delivery = delivery,
        .complete = request->complete,
    };
    struct error error;
    delivery_add_time(delivery, PHASE_DATABASE);
    sessions_begin(request->sessions);
    begin_debug(request);
    begin_replies(delivery);
    if (!request->dry_run)
        delivery_keep_log(delivery);
    bool ready = deadline_arm(request->config->delivery.deadline, &error);
    if (ready && delivery->decoding == NULL)
        delivery_begin(delivery, &error);
    if (ready && delivery->decoding != NULL) {
        deliver(&work);
        if (!ledger_is_lost(delivery->ledger) && !request->dry_run)
            login_backoff_record(sessions_login_backoff(request->sessions), delivery->ledger,
                                 request->config->delivery.deadline / 2);
        delivery->recorded = work.claim != NULL && ledger_may_have(work.claim);
        delivery_add_time(delivery, work.plan != NULL ? PHASE_SETTLE : PHASE_DATABASE);
    } else {
        delivery_refuse(delivery, OUTCOME_TEMPFAIL, error.text);
    }
    log_keep(NULL, 0);
    debug_end();
}

void delivery_refuse(struct delivery *delivery, enum outcome outcome, const char *text)
{
    begin_replies(delivery);
    for (size_t i = 0; i < delivery->request->recipient_count; i++)
        report_set(&delivery->replies[i].report, outcome, "%s", text);
    delivery_add_time(delivery, PHASE_DATABASE);
}

void delivery_clear(struct delivery *delivery)
{
    for (size_t i = 0; delivery->replies != NULL && i < delivery->request->recipient_count; i++)
        route_clear(&delivery->replies[i].route);
    base_free(&delivery->replies);
    base_free(&delivery->holder);
    base_free(&delivery->sent.account);
    base_free(&delivery->sent.mailbox);
    decoding_free(&delivery->decoding);
}
