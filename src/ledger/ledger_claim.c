/* SPDX-License-Identifier: ISC
 *
 * Claim and hold: from the lock to the moment at which an APPEND is allowed. */
#include <stdlib.h>
#include <unistd.h>

#include "ledger/ledger_session.h"

static bool add_delivery(struct ledger *ledger, const struct ledger_claim *claim,
                         const struct ledger_delivery *delivery, struct fault *fault)
{
    const struct pg_param params[] = {
        LEDGER_KEY(claim), {.data = delivery->recipient},
        {.data = delivery->original_recipient}, {.data = delivery->account}, {.data = delivery->mailbox},
        LEDGER_QUEUE_ID(claim->queue_id), {.data = ledger->host}, {.data = delivery->outcome}, {.data = delivery->reason},
        {.data = delivery->finished ? "t" : "f"}, {.data = delivery->whole ? "t" : "f"},
    };
    return pg_add(ledger->pg,
                  "INSERT INTO @schema@.delivery AS d (message, recipient, original_recipient, account, mailbox,"
                  " queue_id, host, outcome, reason, finished_at, whole)"
                  " SELECT id, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text,"
                  " CASE WHEN $11::boolean THEN pg_catalog.clock_timestamp() END, $12::boolean"
                  " FROM @schema@.message WHERE identity = $1 AND digest = $2"
                  " ON CONFLICT (message, recipient) DO UPDATE SET"
                  " original_recipient = coalesce(EXCLUDED.original_recipient, d.original_recipient),"
                  " account = EXCLUDED.account, mailbox = EXCLUDED.mailbox,"
                  " queue_id = coalesce(EXCLUDED.queue_id, d.queue_id), host = EXCLUDED.host,"
                  " outcome = EXCLUDED.outcome, reason = EXCLUDED.reason, tries = d.tries + 1,"
                  " last_at = pg_catalog.clock_timestamp(), finished_at = coalesce(d.finished_at, EXCLUDED.finished_at),"
                  " whole = d.whole OR EXCLUDED.whole",
                  12, params, fault);
}

static bool add_copy(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_copy *copy,
                     struct fault *fault)
{
    char token[24], pid[24], attempt[24];
    const struct pg_param params[] = {
        LEDGER_KEY(claim), {.data = copy->account}, {.data = copy->mailbox},
        {.data = ledger_role_name(copy->role)}, {.data = copy->doubt ? "t" : "f"},
        {.data = pg_number(claim->token, token)}, {.data = ledger->host}, {.data = pg_number(getpid(), pid)},
        {.data = copy->recipient}, {.data = pg_number(copy->attempt, attempt)},
        {.data = copy->state == COPY_STORED ? "t" : "f"},
    };
    return pg_add(ledger->pg,
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
                  12, params, fault);
}

bool ledger_add_hold(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_copy *const *copies,
                     size_t count, struct fault *fault)
{
    const char **accounts OD_CLEANUP(base_free) = base_alloc((count + 1) * sizeof(char *));
    const char **mailboxes OD_CLEANUP(base_free) = base_alloc((count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        accounts[i] = copies[i]->account;
        mailboxes[i] = copies[i]->mailbox;
    }
    char *account_array OD_CLEANUP(base_free) = pg_text_array(accounts, count);
    char *mailbox_array OD_CLEANUP(base_free) = pg_text_array(mailboxes, count);
    char token[24];
    const struct pg_param params[] = {
        LEDGER_KEY(claim), pg_array(account_array), pg_array(mailbox_array),
        {.data = pg_number(claim->token, token)},
    };
    int64_t wait = ledger_hold_wait_ms(ledger->config);
    pg_extend_timeout(ledger->pg, wait);
    return ledger_add_begin(ledger, wait, fault) &&
           lock_add_wait(ledger->pg, ledger->config->lock.method, claim->lock_key, fault) &&
           pg_add(ledger->pg,
                  "SELECT 1 FROM @schema@.message m JOIN @schema@.copy c ON c.message = m.id"
                  " JOIN unnest($3::text[], $4::text[]) AS w(account, mailbox)"
                  " ON w.account = c.account AND w.mailbox = c.mailbox"
                  " WHERE m.identity = $1 AND m.digest = $2 AND c.claim = $5::bigint AND c.state = 'appending'",
                  5, params, fault);
}

enum ledger_result ledger_take_hold(struct ledger *ledger, size_t count, struct fault *fault)
{
    if (!pg_skip(ledger->pg, LEDGER_BEGIN_STATEMENTS + 1, fault))
        return lock_is_timeout(pg_sqlstate(ledger->pg)) ? LEDGER_HELD : LEDGER_TROUBLE;
    PGresult *ours OD_CLEANUP(pg_clear) = pg_next(ledger->pg, fault);
    if (ours == NULL)
        return LEDGER_TROUBLE;
    ledger->in_transaction = true;
    return (size_t)PQntuples(ours) == count ? LEDGER_OK : LEDGER_HELD;
}

static size_t wanted_copies(const struct ledger_claim *claim, const struct ledger_copy **ret)
{
    size_t count = 0;
    for (size_t i = 0; i < claim->copy_count; i++)
        if (claim->copies[i].wanted)
            ret[count++] = &claim->copies[i];
    return count;
}

bool ledger_add_claim(struct ledger *ledger, const struct ledger_claim *claim, const struct decoded *decoded,
                      size_t *statements, struct fault *fault)
{
    if (!claim->known && !ledger_add_record(ledger, claim, decoded, statements, fault))
        return false;
    for (size_t i = 0; i < claim->delivery_count; i++)
        if (claim->deliveries[i].wanted && (++*statements, !add_delivery(ledger, claim, &claim->deliveries[i], fault)))
            return false;
    for (size_t i = 0; i < claim->copy_count; i++)
        if (claim->copies[i].wanted && (++*statements, !add_copy(ledger, claim, &claim->copies[i], fault)))
            return false;
    return true;
}

static bool send_claim(struct ledger *ledger, struct ledger_claim *claim, const struct decoded *decoded,
                       struct fault *fault)
{
    const struct ledger_copy **wanted OD_CLEANUP(base_free) = base_alloc((claim->copy_count + 1) * sizeof(*wanted));
    size_t count = wanted_copies(claim, wanted);
    ledger->claim_statements = 0;
    return ledger_random(&claim->token, fault) &&
           ledger_add_claim(ledger, claim, decoded, &ledger->claim_statements, fault) &&
           pg_add(ledger->pg, "COMMIT", 0, NULL, fault) &&
           (count == 0 || ledger_add_hold(ledger, claim, wanted, count, fault)) && pg_send(ledger->pg, fault);
}

void ledger_claim(struct ledger *ledger, struct ledger_claim *claim, const struct decoded *decoded)
{
    claim->committed = false;
    ledger->in_transaction = false;
    ledger->claim_sent = send_claim(ledger, claim, decoded, &ledger->claim_fault);
}

static enum ledger_result take_claim(struct ledger *ledger, struct ledger_claim *claim, size_t wanted,
                                     struct fault *fault)
{
    if (!pg_skip(ledger->pg, ledger->claim_statements, fault) || !pg_committed(ledger->pg, fault))
        return LEDGER_TROUBLE;
    claim->committed = true;
    return wanted > 0 ? ledger_take_hold(ledger, wanted, fault) : LEDGER_OK;
}

enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault)
{
    if (!ledger->claim_sent) {
        *fault = ledger->claim_fault;
        pg_close(&ledger->pg);  /* should the COMMIT have been on its way already, the hold-off releases the claim */
        return LEDGER_TROUBLE;
    }
    const struct ledger_copy **copies OD_CLEANUP(base_free) = base_alloc((claim->copy_count + 1) * sizeof(*copies));
    enum ledger_result result = take_claim(ledger, claim, wanted_copies(claim, copies), fault);
    if (result == LEDGER_TROUBLE)
        ledger_add_remedy(ledger, LEDGER_DELIVERY, fault);
    if (!pg_finish(ledger->pg) && result == LEDGER_OK && ledger->in_transaction) {
        fault_set(fault, "database: connection lost");
        result = LEDGER_TROUBLE;
    }
    return result;
}
