/* SPDX-License-Identifier: ISC
 *
 * Claim and hold: from the try-lock to the moment at which an APPEND is allowed. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "ledger/ledger_session.h"

#define POLL_FIRST_MS 5
#define POLL_LONGEST_MS 100

static struct ledger_copy *sent_copy(const struct ledger_claim *claim)
{
    for (size_t i = 0; i < claim->copy_count; i++)
        if (claim->copies[i].role == COPY_SENT)
            return &claim->copies[i];
    return NULL;
}

static bool add_message_query(struct ledger *ledger, const struct ledger_claim *claim, struct fault *fault)
{
    const struct pg_param params[] = {LEDGER_KEY(claim)};
    return pg_add(ledger->pg,
                  "SELECT extract(epoch FROM received_at)::bigint FROM @schema@.message"
                  " WHERE identity = $1 AND digest = $2",
                  2, params, fault);
}

static bool add_copies_query(struct ledger *ledger, const struct ledger_claim *claim, struct fault *fault)
{
    const char **accounts OD_CLEANUP(base_free) = base_alloc((claim->copy_count + 1) * sizeof(char *));
    for (size_t i = 0; i < claim->copy_count; i++)
        accounts[i] = claim->copies[i].account;
    char *account_array OD_CLEANUP(base_free) = pg_text_array(accounts, claim->copy_count);
    const struct pg_param params[] = {LEDGER_KEY(claim), {.data = account_array}};
    return pg_add(ledger->pg,
                  "SELECT c.account, c.mailbox, c.state, c.doubt, c.attempt,"
                  " (extract(epoch FROM pg_catalog.clock_timestamp() - c.attempt_at) * 1000)::bigint,"
                  " (extract(epoch FROM pg_catalog.clock_timestamp() - c.first_at) * 1000)::bigint,"
                  " d.recipient, d.finished_at IS NOT NULL, c.uidvalidity, c.uid"
                  " FROM @schema@.message m JOIN @schema@.copy c ON c.message = m.id"
                  " JOIN @schema@.delivery d ON d.id = c.claimed_by"
                  " WHERE m.identity = $1 AND m.digest = $2 AND c.account = ANY ($3::text[])",
                  3, params, fault);
}

/* For the Sent copy the Message-ID alone decides: has another content with this id one, or one under way? */
static bool add_variant_query(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_copy *sent,
                              struct fault *fault)
{
    char hold_off[24];
    const struct pg_param params[] = {
        LEDGER_KEY(claim), {.data = sent->account}, {.data = sent->mailbox},
        {.data = pg_number(ledger->config->delivery.hold_off, hold_off)},
    };
    return pg_add(ledger->pg,
                  "SELECT 1 FROM @schema@.message m JOIN @schema@.copy c ON c.message = m.id"
                  " WHERE m.identity = $1 AND m.digest <> $2 AND c.account = $3 AND c.mailbox = $4 AND c.role = 'sent'"
                  " AND (c.state = 'stored' OR c.state = 'appending'"
                  " AND c.attempt_at > pg_catalog.clock_timestamp() - $5::bigint * interval '1 millisecond') LIMIT 1",
                  5, params, fault);
}

static size_t delivery_place(const struct ledger_claim *claim, const char *recipient)
{
    for (size_t i = 0; i < claim->delivery_count; i++)
        if (claim->deliveries[i].recipient != NULL && strcmp(claim->deliveries[i].recipient, recipient) == 0)
            return i;
    return LEDGER_OTHER;
}

static void take_copy(struct ledger_claim *claim, const PGresult *result, int row)
{
    for (size_t i = 0; i < claim->copy_count; i++) {
        struct ledger_copy *copy = &claim->copies[i];
        if (strcmp(copy->account, PQgetvalue(result, row, 0)) != 0 ||
            strcmp(copy->mailbox, PQgetvalue(result, row, 1)) != 0)
            continue;
        copy->state = ledger_state(PQgetvalue(result, row, 2));
        copy->doubt = pg_bool(result, row, 3);
        copy->attempt = pg_int(result, row, 4);
        copy->attempt_age_ms = pg_int(result, row, 5);
        copy->first_age_ms = pg_int(result, row, 6);
        copy->claimed_by = delivery_place(claim, PQgetvalue(result, row, 7));
        copy->claimed_by_finished = pg_bool(result, row, 8);
        copy->uidvalidity = pg_int(result, row, 9);
        copy->uid = pg_int(result, row, 10);
    }
}

/* Reads the results of the three queries. */
static bool take_known(struct ledger *ledger, struct ledger_claim *claim, struct ledger_copy *sent,
                       struct fault *fault)
{
    PGresult *message OD_CLEANUP(pg_clear) = pg_next(ledger->pg, fault);
    PGresult *copies OD_CLEANUP(pg_clear) = message != NULL ? pg_next(ledger->pg, fault) : NULL;
    PGresult *variant OD_CLEANUP(pg_clear) = copies != NULL && sent != NULL ? pg_next(ledger->pg, fault) : NULL;
    if (copies == NULL || (sent != NULL && variant == NULL))
        return false;
    claim->known = PQntuples(message) == 1;
    if (claim->known)
        claim->received_at = pg_int(message, 0, 0);
    for (size_t i = 0; i < claim->copy_count; i++) {
        struct ledger_copy *copy = &claim->copies[i];
        copy->state = COPY_NONE;
        copy->doubt = copy->claimed_by_finished = copy->elsewhere = false;
        copy->claimed_by = LEDGER_OTHER;
        copy->attempt = copy->attempt_age_ms = copy->first_age_ms = copy->uidvalidity = copy->uid = 0;
    }
    for (int row = 0; row < PQntuples(copies); row++)
        take_copy(claim, copies, row);
    if (sent != NULL)
        sent->elsewhere = PQntuples(variant) > 0;
    return true;
}

/* One try, one round trip: what is known is read behind the lock, in statements of their own, so it is what stands
 * there now that the lock is ours; without the lock it is not looked at. */
static enum ledger_result try_lock(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault)
{
    struct ledger_copy *sent = sent_copy(claim);
    if (!ledger_connect(ledger, fault))
        return LEDGER_TROUBLE;
    bool sending = ledger_add_begin(ledger, PG_TIMEOUT_MS, fault) &&
                   lock_add_try(ledger->pg, ledger->config->lock.method, claim->lock_key, fault) &&
                   add_message_query(ledger, claim, fault) && add_copies_query(ledger, claim, fault) &&
                   (sent == NULL || add_variant_query(ledger, claim, sent, fault)) && pg_send(ledger->pg, fault) &&
                   pg_skip(ledger->pg, LEDGER_BEGIN_STATEMENTS, fault);
    PGresult *lock OD_CLEANUP(pg_clear) = sending ? pg_next(ledger->pg, fault) : NULL;
    enum ledger_result result = lock == NULL ? LEDGER_TROUBLE : lock_granted(lock) ? LEDGER_OK : LEDGER_HELD;
    if (result == LEDGER_OK && !take_known(ledger, claim, sent, fault))
        result = LEDGER_TROUBLE;
    if (!pg_finish(ledger->pg) && result == LEDGER_OK) {
        fault_set(fault, "database: connection lost");
        result = LEDGER_TROUBLE;
    }
    if (result == LEDGER_TROUBLE)
        ledger_add_remedy(fault);
    if (result == LEDGER_OK)
        ledger->in_transaction = true;
    else
        ledger_rollback(ledger);
    return result;
}

static void pause_ms(int64_t ms)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), 0) < 0)
        random = (uint32_t)getpid();
    ms = ms / 2 + (int64_t)(random % (uint32_t)(ms + 1));   /* jitter: half to one and a half */
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

enum ledger_result ledger_lock(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault)
{
    int64_t until = base_now_ms() + ledger->config->lock.wait;
    for (int64_t pause = POLL_FIRST_MS;; pause = pause * 2 < POLL_LONGEST_MS ? pause * 2 : POLL_LONGEST_MS) {
        bool kept = ledger->pg != NULL;
        enum ledger_result result = try_lock(ledger, claim, fault);
        if (result == LEDGER_TROUBLE && ledger_lost_kept(ledger, kept))
            result = try_lock(ledger, claim, fault);
        if (result != LEDGER_HELD || base_now_ms() >= until)
            return result;
        pause_ms(pause);
    }
}

static bool add_delivery(struct ledger *ledger, const struct ledger_claim *claim,
                         const struct ledger_delivery *delivery, struct fault *fault)
{
    const struct pg_param params[] = {
        LEDGER_KEY(claim), {.data = delivery->recipient},
        {.data = delivery->original_recipient}, {.data = delivery->account}, {.data = delivery->mailbox},
        {.data = claim->queue_id}, {.data = ledger->host}, {.data = delivery->outcome}, {.data = delivery->reason},
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
        LEDGER_KEY(claim), {.data = account_array}, {.data = mailbox_array},
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
        ledger_add_remedy(fault);
    if (!pg_finish(ledger->pg) && result == LEDGER_OK && ledger->in_transaction) {
        fault_set(fault, "database: connection lost");
        result = LEDGER_TROUBLE;
    }
    return result;
}
