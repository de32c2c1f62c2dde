/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ledger/ledger_claim.h"
#include "ledger/ledger_lock.h"

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

static void add_copy_state(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_made *made)
{
    const struct ledger_target *target = &claim->message->targets[made->target];
    sql_add(ledger->sql,
            SQL_STEP(settle_copy, LEDGER_KEY(claim->message), .account = SQL_TEXT(target->account),
                     .mailbox = SQL_TEXT(target->mailbox), .attempt = SQL_NUMBER(claimed(claim, made->target)->attempt),
                     .claim = SQL_NUMBER(claim->token), .state = SQL_TEXT(ledger_state_name(made->state)),
                     .doubt = SQL_TRUTH(made->doubt), .uidvalidity = SQL_NUMBER_IF(made->uid != 0, made->uidvalidity),
                     .uid = SQL_NUMBER_IF(made->uid != 0, made->uid), .error = SQL_TEXT(made->error)));
}

/* For Sent only the Message-ID counts: settles variants that were never stored, too. */
static void add_variants_state(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_made *made)
{
    const struct ledger_target *target = &claim->message->targets[made->target];
    if (target->role != COPY_SENT || made->state != COPY_STORED)
        return;
    sql_add(ledger->sql, SQL_STEP(settle_variants, LEDGER_KEY(claim->message), .account = SQL_TEXT(target->account),
                                  .mailbox = SQL_TEXT(target->mailbox),
                                  .uidvalidity = SQL_NUMBER_IF(made->uid != 0, made->uidvalidity),
                                  .uid = SQL_NUMBER_IF(made->uid != 0, made->uid)));
}

/* Updates only our own attempt: a delivery that took over has its own row. */
static void add_answer_update(struct ledger *ledger, const struct ledger_claim *claim,
                              const struct ledger_answer *answer, const struct ledger_times *times)
{
    const struct ledger_message *message = claim->message;
    sql_add(ledger->sql, SQL_STEP(settle_answer, LEDGER_KEY(message),
                                  .recipient = SQL_TEXT(message->recipients[answer->recipient].address),
                                  .outcome = SQL_TEXT(answer->outcome), .reason = SQL_TEXT(answer->reason),
                                  .is_finished = SQL_TRUTH(answer->finished), .is_whole = SQL_TRUTH(answer->whole),
                                  .claim = SQL_NUMBER(claim->token), LEDGER_SPENT(times)));
}

static void add_notify(struct ledger *ledger, const struct ledger_message *message, const struct ledger_made *made,
                       size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any = any || made[i].state == COPY_STORED;
    if (any && ledger->config->record.notify[0] != '\0')
        sql_add(ledger->sql, SQL_STEP(notify, LEDGER_KEY(message), .channel = SQL_TEXT(ledger->config->record.notify)));
}

void ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_made *made,
                       size_t made_count, struct ledger_answers answers)
{
    for (size_t i = 0; i < made_count; i++)
        add_copy_state(ledger, claim, &made[i]);
    for (size_t i = 0; i < made_count; i++)
        add_variants_state(ledger, claim, &made[i]);
    for (size_t i = 0; i < answers.count; i++)
        add_answer_update(ledger, claim, &answers.answers[i], &answers.times);
    add_notify(ledger, claim->message, made, made_count);
}

static bool send_settling(struct ledger *ledger, const struct ledger_claim *claim,
                          const struct ledger_settling *settling, struct marks *ret, struct fault *fault)
{
    if (!ledger->in_transaction) {
        ledger_add_rollback(ledger);
        ledger_add_begin(ledger, SQL_TIMEOUT_MS);
    }
    ret->copies = sql_mark(ledger->sql);
    ledger_add_settle(ledger, claim, settling->made, settling->made_count, settling->answers);
    if (settling->next == LEDGER_NO_TARGET)
        ledger_add_release(ledger);
    ret->commit = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(commit));
    if (settling->next != LEDGER_NO_TARGET)
        ret->hold = ledger_add_hold(ledger, claim, settling->next);
    return sql_send(ledger->sql, fault);
}

/* An UPDATE of no row: another delivery has taken over, or the ledger was replaced. */
static enum ledger_result take_settling(struct ledger *ledger, const struct ledger_settling *settling,
                                        const struct marks *marks, bool *ret_taken, struct fault *fault)
{
    enum ledger_result result = LEDGER_OK;
    bool *taken OD_CLEANUP(base_free) = base_alloc(settling->made_count + 1);
    for (size_t i = 0; i < settling->made_count; i++) {
        struct sql_rows *update OD_CLEANUP(sql_rows_free) = sql_take(ledger->sql, marks->copies + i, fault);
        if (update == NULL)
            return LEDGER_TROUBLE;
        taken[i] = update->changed != 1;
        if (taken[i])
            result = LEDGER_BUSY;
    }
    if (!sql_committed(ledger->sql, marks->commit, fault))
        return LEDGER_TROUBLE;
    memcpy(ret_taken, taken, settling->made_count);
    return result;
}

static enum ledger_result settle_once(struct ledger *ledger, const struct ledger_claim *claim,
                                      const struct ledger_settling *settling, bool *ret_next, bool *ret_taken,
                                      struct fault *fault)
{
    struct fault ignored = {.text = ""}; /* empty if the session was lost before */
    struct marks marks = {.hold = 0};
    if (!ledger_connect(ledger, fault))
        return LEDGER_TROUBLE;
    bool sent = send_settling(ledger, claim, settling, &marks, fault);
    ledger->in_transaction = false;
    enum ledger_result result = sent ? take_settling(ledger, settling, &marks, ret_taken, fault) : LEDGER_TROUBLE;
    bool held = result != LEDGER_TROUBLE && settling->next != LEDGER_NO_TARGET &&
                ledger_take_hold(ledger, marks.hold, 1, &ignored) == LEDGER_OK;
    if (sent)
        held = sql_finish(ledger->sql) && held; /* a lost session has lost the lock too */
    else
        sql_close(&ledger->sql);
    if (result != LEDGER_TROUBLE) {
        *ret_next = held;
        ledger->leased = ledger->leased && settling->next != LEDGER_NO_TARGET;
    }
    return result;
}

/* Includes the queue id, for grep. */
static void warn(const struct ledger_claim *claim, const char *what, const struct fault *fault)
{
    const struct ledger_message *message = claim->message;
    char queue_id[128], id[512];
    log_warning("%s: message-id=<%s>: %s: %s",
                log_escape_field(message->queue_id != NULL ? message->queue_id : "NOQUEUE", queue_id, sizeof(queue_id)),
                log_escape_field(message->message_id != NULL ? message->message_id : "", id, sizeof(id)), what,
                fault->text);
}

enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim,
                                 const struct ledger_settling *settling, bool *ret_next, bool *ret_taken,
                                 struct fault *fault)
{
    struct ledger_settling again = *settling;
    for (size_t i = 0; i < settling->made_count; i++)
        claimed(claim, settling->made[i].target)->settled = true;
    enum ledger_result result = settle_once(ledger, claim, settling, ret_next, ret_taken, fault);
    if (result != LEDGER_TROUBLE)
        return result;
    /* The message may be in the mailbox: a new session is cheaper than a search by the next delivery. */
    warn(claim, "settling failed, trying once more on a new connection", fault);
    sql_close(&ledger->sql);
    again.next = LEDGER_NO_TARGET;
    result = settle_once(ledger, claim, &again, ret_next, ret_taken, fault);
    if (result == LEDGER_TROUBLE)
        sql_close(&ledger->sql);
    return result;
}

void ledger_abandon(struct ledger *ledger, struct ledger_claim *claim, struct ledger_answers answers)
{
    struct fault fault;
    bool next;
    size_t count = 0;
    if (!claim->committed) {
        ledger_rollback(ledger);
        return;
    }
    struct ledger_made *made OD_CLEANUP(base_free) = base_alloc((claim->copy_count + 1) * sizeof(*made));
    bool *taken OD_CLEANUP(base_free) = base_alloc(claim->copy_count + 1);
    for (size_t i = 0; i < claim->copy_count; i++)
        if (!claim->copies[i].settled)
            made[count++] = (struct ledger_made){
                .target = claim->copies[i].copy.target,
                .state = COPY_PENDING,
                .doubt = claim->copies[i].copy.doubt,
            };
    const struct ledger_settling settling = {
        .made = made,
        .made_count = count,
        .answers = answers,
        .next = LEDGER_NO_TARGET,
    };
    if (ledger_settle(ledger, claim, &settling, &next, taken, &fault) == LEDGER_TROUBLE)
        warn(claim, "a claim could not be undone; it ends with delivery.hold_off", &fault);
}
