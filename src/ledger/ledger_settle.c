/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ledger/ledger_internal.h"

struct marks {
    size_t copies, commit, hold;
};

static struct ledger_claimed *claimed(const struct ledger_claim *claim, size_t target)
{
    for (size_t i = 0; i < claim->copy_count; i++)
        if (claim->copies[i].copy.target == target)
            return &claim->copies[i];
    abort(); /* only claimed copies can be settled */
}

/* Before its state says that it is stored. */
static void add_feeds(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_copy_result *result)
{
    const struct ledger_target *target = &claim->message->targets[result->target];
    if (result->state != COPY_STORED || target->feeds == NULL)
        return;
    for (const char *const *feed = target->feeds; *feed != NULL; feed++)
        sql_add(ledger->sql, SQL_STEP(give_copy, LEDGER_KEY(claim->message), .account = SQL_TEXT(target->account),
                                      .mailbox = SQL_TEXT(target->mailbox),
                                      .generation = SQL_NUMBER(claimed(claim, result->target)->generation),
                                      .claim = SQL_NUMBER(claim->token), .feed = SQL_TEXT(*feed)));
}

static void add_copy_state(struct ledger *ledger, const struct ledger_claim *claim,
                           const struct ledger_copy_result *result)
{
    const struct ledger_target *target = &claim->message->targets[result->target];
    bool given = result->state == COPY_STORED && target->feeds != NULL && target->feeds[0] != NULL;
    g_autoptr(GString) feeds = g_string_new(",");
    for (const char *const *feed = target->feeds; given && *feed != NULL; feed++)
        g_string_append_printf(feeds, "%s,", *feed);
    sql_add(ledger->sql,
            SQL_STEP(settle_copy, LEDGER_KEY(claim->message), .account = SQL_TEXT(target->account),
                     .mailbox = SQL_TEXT(target->mailbox),
                     .generation = SQL_NUMBER(claimed(claim, result->target)->generation),
                     .claim = SQL_NUMBER(claim->token), .feeds = SQL_TEXT(given ? feeds->str : NULL),
                     .state = SQL_TEXT(ledger_copy_state_name(result->state)), .doubt = SQL_BOOL(result->doubt),
                     .uidvalidity = SQL_NUMBER_OR_NULL(result->uid != 0, result->uidvalidity),
                     .uid = SQL_NUMBER_OR_NULL(result->uid != 0, result->uid), .error = SQL_TEXT(result->error)));
}

/* For Sent only the Message-ID counts: settles variants that were never stored, too. */
static void add_variants_state(struct ledger *ledger, const struct ledger_claim *claim,
                               const struct ledger_copy_result *result)
{
    const struct ledger_target *target = &claim->message->targets[result->target];
    if (target->role != COPY_SENT || result->state != COPY_STORED)
        return;
    sql_add(ledger->sql, SQL_STEP(settle_variants, LEDGER_KEY(claim->message), .account = SQL_TEXT(target->account),
                                  .mailbox = SQL_TEXT(target->mailbox),
                                  .uidvalidity = SQL_NUMBER_OR_NULL(result->uid != 0, result->uidvalidity),
                                  .uid = SQL_NUMBER_OR_NULL(result->uid != 0, result->uid)));
}

/* Updates only our own attempt: a delivery that took over has its own row. */
static void add_reply_update(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_reply *reply,
                             const struct ledger_times *times)
{
    const struct ledger_message *message = claim->message;
    sql_add(ledger->sql, SQL_STEP(settle_reply, LEDGER_KEY(message),
                                  .recipient = SQL_TEXT(message->recipients[reply->recipient].address),
                                  .outcome = SQL_TEXT(reply->outcome), .reason = SQL_TEXT(reply->reason),
                                  .is_finished = SQL_BOOL(reply->finished), .is_complete = SQL_BOOL(reply->complete),
                                  .claim = SQL_NUMBER(claim->token), LEDGER_TIMES(times)));
}

static void add_notify(struct ledger *ledger, const struct ledger_message *message,
                       const struct ledger_copy_result *result, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any = any || result[i].state == COPY_STORED;
    if (any && ledger->config->record.notify[0] != '\0')
        sql_add(ledger->sql, SQL_STEP(notify, LEDGER_KEY(message), .channel = SQL_TEXT(ledger->config->record.notify)));
}

size_t ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim,
                         const struct ledger_copy_result *result, size_t result_count, struct ledger_replies replies)
{
    for (size_t i = 0; i < result_count; i++)
        add_feeds(ledger, claim, &result[i]);
    size_t copies = sql_mark(ledger->sql);
    for (size_t i = 0; i < result_count; i++)
        add_copy_state(ledger, claim, &result[i]);
    for (size_t i = 0; i < result_count; i++)
        add_variants_state(ledger, claim, &result[i]);
    for (size_t i = 0; i < replies.count; i++)
        add_reply_update(ledger, claim, &replies.replies[i], &replies.times);
    add_notify(ledger, claim->message, result, result_count);
    return copies;
}

static bool send_settling(struct ledger *ledger, const struct ledger_claim *claim,
                          const struct ledger_settling *settling, struct marks *ret, struct error *error)
{
    if (!ledger->in_transaction) {
        ledger_add_rollback(ledger);
        ledger_add_begin(ledger, SQL_TIMEOUT_MS);
    }
    ret->copies = ledger_add_settle(ledger, claim, settling->result, settling->result_count, settling->replies);
    if (settling->next == LEDGER_NO_TARGET)
        ledger_add_release(ledger);
    ret->commit = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(commit));
    if (settling->next != LEDGER_NO_TARGET)
        ret->hold = ledger_add_hold(ledger, claim, settling->next);
    return sql_send(ledger->sql, error);
}

/* An UPDATE of no row: another delivery has taken over, or the ledger was replaced. */
static enum ledger_result take_settling(struct ledger *ledger, const struct ledger_settling *settling,
                                        const struct marks *marks, bool *ret_taken, struct error *error)
{
    enum ledger_result result = LEDGER_OK;
    bool *taken OD_CLEANUP(base_free) = base_alloc(settling->result_count + 1);
    for (size_t i = 0; i < settling->result_count; i++) {
        struct sql_rows *update OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, marks->copies + i, error);
        if (update == NULL)
            return LEDGER_ERROR;
        taken[i] = update->changed != 1;
        if (taken[i])
            result = LEDGER_BUSY;
    }
    if (!sql_committed(ledger->sql, marks->commit, error))
        return LEDGER_ERROR;
    memcpy(ret_taken, taken, settling->result_count);
    return result;
}

static enum ledger_result settle_once(struct ledger *ledger, const struct ledger_claim *claim,
                                      const struct ledger_settling *settling, bool *ret_next, bool *ret_taken,
                                      struct error *error)
{
    struct error ignored = {.text = ""}; /* empty if the session was lost before */
    struct marks marks = {.hold = 0};
    if (!ledger_connect(ledger, error))
        return LEDGER_ERROR;
    bool sent = send_settling(ledger, claim, settling, &marks, error);
    ledger->in_transaction = false;
    enum ledger_result result = sent ? take_settling(ledger, settling, &marks, ret_taken, error) : LEDGER_ERROR;
    bool held = result != LEDGER_ERROR && settling->next != LEDGER_NO_TARGET &&
                ledger_take_hold(ledger, marks.hold, 1, &ignored) == LEDGER_OK;
    if (sent)
        held = sql_finish(ledger->sql) && held; /* a lost session has lost the lock too */
    else
        sql_close(&ledger->sql);
    if (result != LEDGER_ERROR) {
        *ret_next = held;
        ledger->leased = ledger->leased && settling->next != LEDGER_NO_TARGET;
    }
    return result;
}

/* Includes the queue id, for grep. */
static void warn(const struct ledger_claim *claim, const char *what, const struct error *error)
{
    const struct ledger_message *message = claim->message;
    char queue_id[128], id[512], text[sizeof(error->text)];
    log_warning("%s: message-id=<%s>: %s: %s",
                log_escape_field(message->queue_id != NULL ? message->queue_id : "NOQUEUE", queue_id, sizeof(queue_id)),
                log_escape_field(message->message_id != NULL ? message->message_id : "", id, sizeof(id)), what,
                log_escape_text(error->text, text, sizeof(text)));
}

enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim,
                                 const struct ledger_settling *settling, bool *ret_next, bool *ret_taken,
                                 struct error *error)
{
    struct ledger_settling again = *settling;
    for (size_t i = 0; i < settling->result_count; i++)
        claimed(claim, settling->result[i].target)->settled = true;
    enum ledger_result result = settle_once(ledger, claim, settling, ret_next, ret_taken, error);
    if (result != LEDGER_ERROR)
        return result;
    /* The message may be in the mailbox: a new session is cheaper than a search by the next delivery. */
    warn(claim, "the result could not be recorded, trying once more on a new connection", error);
    sql_close(&ledger->sql);
    again.next = LEDGER_NO_TARGET;
    result = settle_once(ledger, claim, &again, ret_next, ret_taken, error);
    if (result == LEDGER_ERROR)
        sql_close(&ledger->sql);
    return result;
}

void ledger_release(struct ledger *ledger, struct ledger_claim *claim, struct ledger_replies replies)
{
    struct error error;
    bool next;
    size_t count = 0;
    if (!claim->committed) {
        ledger_rollback(ledger);
        return;
    }
    struct ledger_copy_result *result OD_CLEANUP(base_free) = base_alloc((claim->copy_count + 1) * sizeof(*result));
    bool *taken OD_CLEANUP(base_free) = base_alloc(claim->copy_count + 1);
    for (size_t i = 0; i < claim->copy_count; i++)
        if (!claim->copies[i].settled)
            result[count++] = (struct ledger_copy_result){
                .target = claim->copies[i].copy.target,
                .state = COPY_PENDING,
                .doubt = claim->copies[i].copy.doubt,
            };
    const struct ledger_settling settling = {
        .result = result,
        .result_count = count,
        .replies = replies,
        .next = LEDGER_NO_TARGET,
    };
    if (ledger_settle(ledger, claim, &settling, &next, taken, &error) == LEDGER_ERROR)
        warn(claim, "a claim could not be undone; it ends with delivery.hold_off", &error);
}
