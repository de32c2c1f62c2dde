/* SPDX-License-Identifier: ISC */
#include <string.h>
#include <unistd.h>

#include "ledger/ledger_internal.h"

bool ledger_in_process(const struct ledger *ledger)
{
    return ledger->engine->in_process;
}

/* known: the message may be recorded already. */
static void add_reply(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_reply *reply,
                      bool known, const struct ledger_times *times)
{
    const struct ledger_message *message = claim->message;
    const struct ledger_recipient *recipient = &message->recipients[reply->recipient];
    sql_add(ledger->sql, SQL_STEP(reply, LEDGER_KEY(message), .recipient = SQL_TEXT(recipient->address),
                                  .original = SQL_TEXT(recipient->original), .account = SQL_TEXT(recipient->account),
                                  .mailbox = SQL_TEXT(recipient->mailbox),
                                  .queue_id = LEDGER_QUEUE_ID(message->queue_id), .host = SQL_TEXT(ledger->host),
                                  .outcome = SQL_TEXT(reply->outcome), .reason = SQL_TEXT(reply->reason),
                                  .is_finished = SQL_BOOL(reply->finished), .is_complete = SQL_BOOL(reply->complete),
                                  .claim = SQL_NUMBER(claim->token), .pid = SQL_NUMBER(getpid()),
                                  .queued_at = SQL_NUMBER_OR_NULL(message->queued_at != 0, message->queued_at),
                                  .trace = SQL_TRUE_IF(ledger->config->record.trace), .known = SQL_TRUE_IF(known),
                                  LEDGER_TIMES(times)));
}

static void add_copy(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_claimed *claimed)
{
    const struct ledger_message *message = claim->message;
    const struct ledger_copy *copy = &claimed->copy;
    const struct ledger_target *target = &message->targets[copy->target];
    sql_add(ledger->sql,
            SQL_STEP(claim_copy, LEDGER_KEY(message), .account = SQL_TEXT(target->account),
                     .mailbox = SQL_TEXT(target->mailbox),
                     .role = SQL_TEXT(target->role == COPY_SENT ? "sent" : "inbox"), .doubt = SQL_BOOL(copy->doubt),
                     .claim = SQL_NUMBER(claim->token), .pid = SQL_NUMBER(getpid()),
                     .recipient = SQL_TEXT(message->recipients[copy->recipient].address),
                     .attempt_before = SQL_NUMBER_OR_NULL(claimed->generation > 1, claimed->generation - 1),
                     .again = SQL_BOOL(copy->again), LEDGER_CLOCKS(ledger)));
}

/* A copy that is stored is given to the feeds that take it for this recipient, if he is new: before the reply. */
static void add_known_feeds(struct ledger *ledger, const struct ledger_message *message,
                            const struct ledger_state *found, const struct ledger_recipient *recipient)
{
    for (size_t i = 0; recipient->account != NULL && i < message->target_count; i++) {
        const struct ledger_target *target = &message->targets[i];
        if (found->copies[i].state != COPY_STORED || target->feeds == NULL || target->role != COPY_INBOX ||
            strcmp(target->account, recipient->account) != 0 || strcmp(target->mailbox, recipient->mailbox) != 0)
            continue;
        for (const char *const *feed = target->feeds; *feed != NULL; feed++)
            sql_add(ledger->sql, SQL_STEP(give_known, LEDGER_KEY(message), .account = SQL_TEXT(target->account),
                                          .mailbox = SQL_TEXT(target->mailbox),
                                          .recipient = SQL_TEXT(recipient->address), .feed = SQL_TEXT(*feed)));
    }
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
    ledger_add_begin_read(ledger, wait);
    size_t mark = sql_mark(ledger->sql);
    if (claim->if_new && !ledger_leases(ledger))
        sql_add(ledger->sql, SQL_STEP(relock_claimed, .key = SQL_NUMBER(ledger->lock_key), LEDGER_KEY(claim->message),
                                      .claim = SQL_NUMBER(claim->token)));
    else
        ledger_add_relock(ledger);
    sql_add(ledger->sql, SQL_STEP(hold_copies, LEDGER_KEY(claim->message), .accounts = SQL_TEXTS(accounts, count),
                                  .mailboxes = SQL_TEXTS(mailboxes, count), .claim = SQL_NUMBER(claim->token)));
    ledger_add_end(ledger);
    return mark;
}

/* Replaces the hold with an engine in this process: its lock lasts as long as the session, so nothing can come between
 * claim and hold. A copy is ours if the claim changed its row. */
static enum ledger_result take_claimed(struct ledger *ledger, const struct ledger_claim *claim, struct error *error)
{
    size_t claimed = 0;
    for (size_t i = 0; i < claim->copy_count; i++) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, claim->copies_mark + i, error);
        if (rows == NULL)
            return LEDGER_ERROR;
        claimed += rows->changed == 1;
    }
    return claimed == claim->copy_count ? LEDGER_OK : LEDGER_BUSY;
}

enum ledger_result ledger_take_hold(struct ledger *ledger, size_t mark, size_t count, struct error *error)
{
    struct sql_rows *lock OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, mark, error);
    struct sql_rows *ours OD_CLEANUP(sql_rows_free) = lock != NULL ? sql_get_result(ledger->sql, mark + 1, error)
                                                                   : NULL;
    if (ours == NULL || !ledger_ended(ledger, mark + 2, error))
        return ledger_lock_unavailable(ledger, error) ? LEDGER_BUSY : LEDGER_ERROR;
    ledger_remember_lock(ledger, true);
    if (lock->count != 1) {
        ledger->leased = false; /* another session has it */
        return LEDGER_BUSY;
    }
    size_t held = 0;
    for (size_t row = 0; row < ours->count; row++)
        held += ledger_copy_state_of_name(sql_text(ours, row, HOLD_COPIES_STATE)) == COPY_APPENDING;
    return held == count ? LEDGER_OK : LEDGER_BUSY;
}

void ledger_add_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_state *found,
                      struct ledger_replies replies, const struct decoded *decoded)
{
    if (!found->known)
        ledger_add_record(ledger, claim->message, found->received_at, decoded);
    /* a lease may have been another's since ledger_read_state */
    bool known = found->known || (ledger_leases(ledger) && !claim->if_new);
    for (size_t i = 0; found->known && i < replies.count; i++)
        add_known_feeds(ledger, claim->message, found, &claim->message->recipients[replies.replies[i].recipient]);
    for (size_t i = 0; i < replies.count; i++)
        add_reply(ledger, claim, &replies.replies[i], known, &replies.times);
    size_t searches = 0;
    claim->copies_mark = sql_mark(ledger->sql);
    for (size_t i = 0; i < claim->copy_count; i++) {
        add_copy(ledger, claim, &claim->copies[i]);
        searches += claim->copies[i].copy.doubt;
    }
    if (searches > 0)
        ledger_add_event(ledger, "search", searches);
}

struct ledger_claim *ledger_claim_begin(const struct ledger_message *message, const struct ledger_state *found,
                                        const struct ledger_copy *copies, size_t copy_count)
{
    struct ledger_claim *claim = base_alloc(sizeof(*claim));
    claim->message = message;
    claim->copies = base_alloc((copy_count + 1) * sizeof(*claim->copies));
    claim->copy_count = copy_count;
    for (size_t i = 0; i < copy_count; i++)
        claim->copies[i] = (struct ledger_claimed){
            .copy = copies[i],
            .generation = found->copies[copies[i].target].generation + 1,
        };
    return claim;
}

bool ledger_send_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_state *found,
                       struct ledger_replies replies, const struct decoded *decoded, struct error *error)
{
    if (!base_random(&claim->token, error))
        return false;
    ledger_add_claim(ledger, claim, found, replies, decoded);
    if (claim->copy_count == 0)
        ledger_add_release(ledger);
    claim->commit = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(commit));
    if (claim->copy_count > 0 && !ledger_in_process(ledger))
        claim->hold = ledger_add_hold(ledger, claim, LEDGER_ALL_TARGETS);
    return sql_send(ledger->sql, error);
}

struct ledger_claim *ledger_claim(struct ledger *ledger, const struct ledger_message *message,
                                  const struct ledger_state *found, const struct ledger_copy *copies, size_t copy_count,
                                  struct ledger_replies replies, const struct decoded *decoded)
{
    struct ledger_claim *claim = ledger_claim_begin(message, found, copies, copy_count);
    ledger->in_transaction = false;
    ledger_add_begin_under(ledger);
    claim->in_flight = ledger_send_claim(ledger, claim, found, replies, decoded, &claim->error);
    return claim;
}

void ledger_claim_free(struct ledger_claim **claim)
{
    if (*claim == NULL)
        return;
    base_free(&(*claim)->copies);
    base_free(claim);
}

static enum ledger_result take_claim(struct ledger *ledger, struct ledger_claim *claim, struct error *error)
{
    bool in_process = ledger_in_process(ledger);
    enum ledger_result result = in_process ? take_claimed(ledger, claim, error) : LEDGER_OK;
    if (result == LEDGER_ERROR || !sql_committed(ledger->sql, claim->commit, error))
        return ledger_conflicted(ledger, error) ? LEDGER_CONFLICT : LEDGER_ERROR;
    claim->committed = true;
    if (in_process || claim->copy_count == 0)
        return result;
    return ledger_take_hold(ledger, claim->hold, claim->copy_count, error);
}

enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct error *error)
{
    if (!claim->in_flight) {
        *error = claim->error;
        sql_close(&ledger->sql); /* if the COMMIT was sent, the hold-off releases the claim */
        return LEDGER_ERROR;
    }
    enum ledger_result result = take_claim(ledger, claim, error);
    if (result == LEDGER_ERROR)
        ledger_add_hint(ledger, SQL_DELIVERY, error);
    bool alive = sql_finish(ledger->sql);
    claim->refused = !claim->committed && (alive || error->code[0] != '\0');
    if (!alive && result == LEDGER_OK && claim->copy_count > 0) {
        error_set(error, "database: " SQL_LOST);
        result = LEDGER_ERROR;
    }
    return result;
}

bool ledger_may_have(const struct ledger_claim *claim)
{
    return !claim->refused;
}
