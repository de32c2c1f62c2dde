/* SPDX-License-Identifier: ISC
 *
 * Claim and hold: from the lock to the moment when an APPEND is allowed. */
#include <unistd.h>

#include "ledger/ledger_claim.h"
#include "ledger/ledger_lock.h"
#include "ledger/ledger_record.h"

/* The recipient's delivery and this try of it, in one statement. */
static void add_answer(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_answer *answer,
                       const struct ledger_times *times)
{
    const struct ledger_message *message = claim->message;
    const struct ledger_recipient *recipient = &message->recipients[answer->recipient];
    pg_add(
        ledger->pg,
        "WITH tried AS (INSERT INTO @schema@.delivery AS d (message, recipient, original_recipient, account, mailbox,"
        " queue_id, host, outcome, reason, finished_at, whole)"
        " SELECT id, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text,"
        " CASE WHEN $11::boolean THEN pg_catalog.clock_timestamp() END, $12::boolean"
        " FROM @schema@.message WHERE identity = $1 AND digest = $2"
        " ON CONFLICT (message, recipient) DO UPDATE SET"
        " original_recipient = coalesce(EXCLUDED.original_recipient, d.original_recipient),"
        " account = EXCLUDED.account, mailbox = EXCLUDED.mailbox,"
        " queue_id = coalesce(EXCLUDED.queue_id, d.queue_id), host = EXCLUDED.host,"
        " outcome = EXCLUDED.outcome, reason = EXCLUDED.reason, tries = d.tries + 1,"
        " last_at = pg_catalog.clock_timestamp(),"
        " finished_at = coalesce(CASE WHEN d.outcome <> 'abandoned' THEN d.finished_at END, EXCLUDED.finished_at),"
        " whole = d.whole OR EXCLUDED.whole RETURNING d.id)"
        " INSERT INTO @schema@.try (delivery, claim, started_at, ended_at, queue_id, queued_at, host, pid, outcome, reason,"
        " read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id)"
        " SELECT id, $13::bigint, pg_catalog.clock_timestamp() - interval '1 millisecond' *"
        " ($17::bigint + $18::bigint + $19::bigint + $20::bigint),"
        " CASE WHEN $9::text <> 'claimed' THEN pg_catalog.clock_timestamp() END, $7::text,"
        " pg_catalog.to_timestamp($15::bigint), $8::text, $14::integer, $9::text, $10::text,"
        " $17::bigint, $18::bigint, $19::bigint, $20::bigint,"
        " CASE WHEN $16::boolean THEN substring(pg_catalog.sha256($1::bytea || $2::bytea) FROM 1 FOR 16) END,"
        " CASE WHEN $16::boolean THEN substring(pg_catalog.sha256(pg_catalog.int8send($13::bigint) ||"
        " pg_catalog.convert_to($3::text, 'UTF8')) FROM 1 FOR 8) END"
        " FROM tried ON CONFLICT DO NOTHING",
        PG_PARAMS(LEDGER_KEY(message), PG_TEXT(recipient->address), PG_TEXT(recipient->original),
                  PG_TEXT(recipient->account), PG_TEXT(recipient->mailbox), LEDGER_QUEUE_ID(message->queue_id),
                  PG_TEXT(ledger->host), PG_TEXT(answer->outcome), PG_TEXT(answer->reason), PG_BOOL(answer->finished),
                  PG_BOOL(answer->whole), PG_NUMBER(claim->token), PG_NUMBER(getpid()),
                  PG_NUMBER_IF(message->queued_at != 0, message->queued_at), PG_BOOL(ledger->config->record.trace),
                  LEDGER_SPENT(times)));
}

static void add_copy(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_claimed *claimed)
{
    const struct ledger_message *message = claim->message;
    const struct ledger_copy *copy = &claimed->copy;
    const struct ledger_target *target = &message->targets[copy->target];
    pg_add(ledger->pg,
           "INSERT INTO @schema@.copy AS c (message, account, mailbox, role, state, doubt, claim, claimed_by,"
           " host, pid)"
           " SELECT m.id, $3::text, $4::text, $5::text, 'appending', $6::boolean, $7::bigint, d.id, $8::text,"
           " $9::integer FROM @schema@.message m JOIN @schema@.delivery d ON d.message = m.id"
           " AND d.recipient = $10 WHERE m.identity = $1 AND m.digest = $2"
           " ON CONFLICT (message, account, mailbox) DO UPDATE SET state = 'appending',"
           " doubt = EXCLUDED.doubt, attempt = c.attempt + 1, attempt_at = EXCLUDED.attempt_at,"
           " claim = EXCLUDED.claim, claimed_by = EXCLUDED.claimed_by, host = EXCLUDED.host,"
           " pid = EXCLUDED.pid, error = NULL, repeated = c.repeated + $12::boolean::integer"
           " WHERE c.attempt = $11::integer AND (c.state = 'stored') = $12::boolean",
           PG_PARAMS(LEDGER_KEY(message), PG_TEXT(target->account), PG_TEXT(target->mailbox),
                     PG_TEXT(ledger_role_name(target->role)), PG_BOOL(copy->doubt), PG_NUMBER(claim->token),
                     PG_TEXT(ledger->host), PG_NUMBER(getpid()), PG_TEXT(message->recipients[copy->recipient].address),
                     PG_NUMBER(claimed->attempt - 1), PG_BOOL(copy->again)));
}

/* Whether the hold includes this copy. */
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
    char *account_array OD_CLEANUP(base_free) = pg_text_array(accounts, count);
    char *mailbox_array OD_CLEANUP(base_free) = pg_text_array(mailboxes, count);
    int64_t wait = ledger_hold_wait_ms(ledger->config);
    pg_set_timeout(ledger->pg, PG_TIMEOUT_MS + wait);
    ledger_add_begin(ledger, wait);
    size_t mark = pg_mark(ledger->pg);
    ledger_add_reassert(ledger);
    /* The state is not a condition: for that PostgreSQL would read the index of what is not stored, which is full of rows
     * of deliveries that have ended. Settling will need a transaction number anyway; to have it from now on lets
     * PostgreSQL see that this transaction is going to commit: commit_siblings counts only those that have one. */
    pg_add(ledger->pg,
           "SELECT c.state, pg_catalog.pg_current_xact_id() FROM @schema@.message m JOIN @schema@.copy c"
           " ON c.message = m.id AND c.account = ANY ($3::text[]) AND c.mailbox = ANY ($4::text[])"
           " WHERE m.identity = $1 AND m.digest = $2 AND c.claim = $5::bigint",
           PG_PARAMS(LEDGER_KEY(claim->message), PG_ARRAY(account_array), PG_ARRAY(mailbox_array),
                     PG_NUMBER(claim->token)));
    ledger_add_end(ledger);
    return mark;
}

enum ledger_result ledger_take_hold(struct ledger *ledger, size_t mark, size_t count, struct fault *fault)
{
    PGresult *lock OD_CLEANUP(pg_clear) = pg_take(ledger->pg, mark, fault);
    if (lock == NULL)
        return lock_timed_out(fault) ? LEDGER_BUSY : LEDGER_TROUBLE;
    PGresult *ours OD_CLEANUP(pg_clear) = pg_take(ledger->pg, mark + 1, fault);
    if (ours == NULL)
        return LEDGER_TROUBLE;
    ledger_note_lock(ledger, true);
    if (!lock_reasserted(lock)) {
        ledger->leased = false; /* it is another's */
        return LEDGER_BUSY;
    }
    size_t held = 0;
    for (int row = 0; row < PQntuples(ours); row++)
        held += ledger_state(PQgetvalue(ours, row, 0)) == COPY_APPENDING;
    return held == count ? LEDGER_OK : LEDGER_BUSY;
}

void ledger_add_claim(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_found *found,
                      struct ledger_answers answers, const struct decoded *decoded)
{
    if (!found->known)
        ledger_add_record(ledger, claim->message, found->received_at, decoded);
    for (size_t i = 0; i < answers.count; i++)
        add_answer(ledger, claim, &answers.answers[i], &answers.times);
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
    claim->commit = pg_mark(ledger->pg);
    pg_add(ledger->pg, "COMMIT", 0, NULL);
    if (claim->copy_count > 0)
        claim->hold = ledger_add_hold(ledger, claim, LEDGER_ALL_TARGETS);
    return pg_send(ledger->pg, fault);
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
    if (!pg_committed(ledger->pg, claim->commit, fault))
        return LEDGER_TROUBLE;
    claim->committed = true;
    return claim->copy_count > 0 ? ledger_take_hold(ledger, claim->hold, claim->copy_count, fault) : LEDGER_OK;
}

enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault)
{
    if (!claim->in_flight) {
        *fault = claim->fault;
        pg_close(&ledger->pg); /* if the COMMIT was already on its way, the hold-off releases the claim */
        return LEDGER_TROUBLE;
    }
    enum ledger_result result = take_claim(ledger, claim, fault);
    if (result == LEDGER_TROUBLE)
        ledger_add_remedy(ledger->config, LEDGER_DELIVERY, fault);
    if (!pg_finish(ledger->pg) && result == LEDGER_OK && claim->copy_count > 0) {
        fault_set(fault, "database: connection lost");
        result = LEDGER_TROUBLE;
    }
    return result;
}
