/* SPDX-License-Identifier: ISC */
#include <unistd.h>

#include "ledger/ledger_claim.h"
#include "ledger/ledger_lock.h"
#include "ledger/ledger_record.h"

bool ledger_works_here(const struct ledger *ledger)
{
    return ledger->engine->works_here;
}

/* known: the message may be recorded already. */
static void add_answer(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_answer *answer,
                       bool known, const struct ledger_times *times)
{
    const struct ledger_message *message = claim->message;
    const struct ledger_recipient *recipient = &message->recipients[answer->recipient];
    sql_add(ledger->sql, SQL_STEP(answer, LEDGER_KEY(message), .recipient = SQL_TEXT(recipient->address),
                                  .original = SQL_TEXT(recipient->original), .account = SQL_TEXT(recipient->account),
                                  .mailbox = SQL_TEXT(recipient->mailbox),
                                  .queue_id = LEDGER_QUEUE_ID(message->queue_id), .host = SQL_TEXT(ledger->host),
                                  .outcome = SQL_TEXT(answer->outcome), .reason = SQL_TEXT(answer->reason),
                                  .is_finished = SQL_TRUTH(answer->finished), .is_whole = SQL_TRUTH(answer->whole),
                                  .claim = SQL_NUMBER(claim->token), .pid = SQL_NUMBER(getpid()),
                                  .queued_at = SQL_NUMBER_IF(message->queued_at != 0, message->queued_at),
                                  .trace = SQL_TRUE_IF(ledger->config->record.trace), .known = SQL_TRUE_IF(known),
                                  LEDGER_SPENT(times)));
}

static void add_copy(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_claimed *claimed)
{
    const struct ledger_message *message = claim->message;
    const struct ledger_copy *copy = &claimed->copy;
    const struct ledger_target *target = &message->targets[copy->target];
    sql_add(ledger->sql,
            SQL_STEP(claim_copy, LEDGER_KEY(message), .account = SQL_TEXT(target->account),
                     .mailbox = SQL_TEXT(target->mailbox), .role = SQL_TEXT(ledger_role_name(target->role)),
                     .doubt = SQL_TRUTH(copy->doubt), .claim = SQL_NUMBER(claim->token), .pid = SQL_NUMBER(getpid()),
                     .recipient = SQL_TEXT(message->recipients[copy->recipient].address),
                     .attempt_before = SQL_NUMBER_IF(claimed->attempt > 1, claimed->attempt - 1),
                     .again = SQL_TRUTH(copy->again), LEDGER_CLOCKS(ledger)));
}

static bool is_held(const struct ledger_claimed *claimed, size_t target)
{
    return !claimed->settled && (target == LEDGER_ALL_TARGETS || claimed->copy.target == target);
}

size_t ledger_add_hold(struct ledger *ledger, const struct ledger_claim *claim, size_t target)
{
    size_t count = 0;
    const char **accounts OD_CLEANUP(base_free) = base_alloc((claim->copy_count + 1) * sizeof(char *));
    const char **mailboxes OD_CLEANUP(base_free) = base_alloc((claim->copy_count + 1) * sizeof(char *));
    for (size_t i = 0; i < claim->copy_count; i++) {
        const struct ledger_target *held = &claim->message->targets[claim->copies[i].copy.target];
        if (!is_held(&claim->copies[i], target))
            continue;
        accounts[count] = held->account;
        mailboxes[count++] = held->mailbox;
    }
    int64_t wait = ledger_hold_wait_ms(ledger->config);
    sql_set_timeout(ledger->sql, SQL_TIMEOUT_MS + wait);
    ledger_add_begin_look(ledger, wait);
    size_t mark = sql_mark(ledger->sql);
    ledger_add_reassert(ledger);
    sql_add(ledger->sql, SQL_STEP(hold_copies, LEDGER_KEY(claim->message), .accounts = SQL_TEXTS(accounts, count),
                                  .mailboxes = SQL_TEXTS(mailboxes, count), .claim = SQL_NUMBER(claim->token)));
    ledger_add_end(ledger);
    return mark;
}

enum ledger_result ledger_take_hold(struct ledger *ledger, size_t mark, size_t count, struct fault *fault)
{
    struct sql_rows *lock OD_CLEANUP(sql_rows_free) = sql_take(ledger->sql, mark, fault);
    struct sql_rows *ours OD_CLEANUP(sql_rows_free) = lock != NULL ? sql_take(ledger->sql, mark + 1, fault) : NULL;
    if (ours == NULL || !ledger_ended(ledger, mark + 2, fault))
        return ledger_lock_timed_out(ledger, fault) ? LEDGER_BUSY : LEDGER_TROUBLE;
    ledger_note_lock(ledger, true);
    if (!lock_reasserted(lock)) {
        ledger->leased = false; /* another session has it */
        return LEDGER_BUSY;
    }
    size_t held = 0;
    for (size_t row = 0; row < ours->count; row++)
        held += ledger_state(sql_text(ours, row, HOLD_COPIES_STATE)) == COPY_APPENDING;
    return held == count ? LEDGER_OK : LEDGER_BUSY;
}

void ledger_add_claim(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_found *found,
                      struct ledger_answers answers, const struct decoded *decoded)
{
    if (!found->known)
        ledger_add_record(ledger, claim->message, found->received_at, decoded);
    bool known = found->known || ledger_leases(ledger); /* a lease may have been another's since ledger_look */
    for (size_t i = 0; i < answers.count; i++)
        add_answer(ledger, claim, &answers.answers[i], known, &answers.times);
    size_t searches = 0;
    for (size_t i = 0; i < claim->copy_count; i++) {
        add_copy(ledger, claim, &claim->copies[i]);
        searches += claim->copies[i].copy.doubt;
    }
    if (searches > 0)
        ledger_add_event(ledger, "search", searches);
}

struct ledger_claim *ledger_claim_new(const struct ledger_message *message, const struct ledger_found *found,
                                      const struct ledger_copy *copies, size_t copy_count)
{
    struct ledger_claim *claim = base_alloc(sizeof(*claim));
    claim->message = message;
    claim->copies = base_alloc((copy_count + 1) * sizeof(*claim->copies));
    claim->copy_count = copy_count;
    for (size_t i = 0; i < copy_count; i++)
        claim->copies[i] = (struct ledger_claimed){
            .copy = copies[i],
            .attempt = found->copies[copies[i].target].attempt + 1,
        };
    return claim;
}

static bool send_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_found *found,
                       struct ledger_answers answers, const struct decoded *decoded, struct fault *fault)
{
    if (!base_random(&claim->token, fault))
        return false;
    ledger_add_begin_under(ledger);
    ledger_add_claim(ledger, claim, found, answers, decoded);
    if (claim->copy_count == 0)
        ledger_add_release(ledger);
    claim->commit = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(commit));
    if (claim->copy_count > 0)
        claim->hold = ledger_add_hold(ledger, claim, LEDGER_ALL_TARGETS);
    return sql_send(ledger->sql, fault);
}

struct ledger_claim *ledger_claim(struct ledger *ledger, const struct ledger_message *message,
                                  const struct ledger_found *found, const struct ledger_copy *copies, size_t copy_count,
                                  struct ledger_answers answers, const struct decoded *decoded)
{
    struct ledger_claim *claim = ledger_claim_new(message, found, copies, copy_count);
    ledger->in_transaction = false;
    claim->in_flight = send_claim(ledger, claim, found, answers, decoded, &claim->fault);
    return claim;
}

void ledger_claim_free(struct ledger_claim **claim)
{
    if (*claim == NULL)
        return;
    base_free(&(*claim)->copies);
    base_free(claim);
}

static enum ledger_result take_claim(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault)
{
    if (!sql_committed(ledger->sql, claim->commit, fault))
        return ledger_conflicted(ledger, fault) ? LEDGER_CONFLICT : LEDGER_TROUBLE;
    claim->committed = true;
    return claim->copy_count > 0 ? ledger_take_hold(ledger, claim->hold, claim->copy_count, fault) : LEDGER_OK;
}

enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault)
{
    if (!claim->in_flight) {
        *fault = claim->fault;
        sql_close(&ledger->sql); /* if the COMMIT was sent, the hold-off releases the claim */
        return LEDGER_TROUBLE;
    }
    enum ledger_result result = take_claim(ledger, claim, fault);
    if (result == LEDGER_TROUBLE)
        ledger_add_remedy(ledger, SQL_DELIVERY, fault);
    bool alive = sql_finish(ledger->sql);
    claim->refused = !claim->committed && (alive || fault->code[0] != '\0');
    if (!alive && result == LEDGER_OK && claim->copy_count > 0) {
        fault_set(fault, "database: connection lost");
        result = LEDGER_TROUBLE;
    }
    return result;
}

bool ledger_may_have(const struct ledger_claim *claim)
{
    return !claim->refused;
}
