/* SPDX-License-Identifier: ISC
 *
 * The try-lock, and what is known behind it. */
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
    const struct pg_param params[] = {LEDGER_KEY(claim), pg_array(account_array)};
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

/* For the Sent copy the Message-ID alone decides: has another content with this id one, or one that may still come to be?
 * That is also one that was given up while its APPEND was not known to have failed. */
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
                  " AND (c.state = 'stored' OR (c.state = 'appending' OR c.state = 'failed' AND c.doubt)"
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
        ledger_add_remedy(ledger, LEDGER_DELIVERY, fault);
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

/* Whether another delivery claimed a copy of ours so short a time ago: between the COMMIT of its claim and its hold
 * nobody has the lock, and its copy is not ours to make. What would be left to others anyway is not looked at. */
static bool just_claimed(const struct ledger_claim *claim, int64_t within_ms)
{
    for (size_t i = 0; i < claim->copy_count; i++) {
        const struct ledger_copy *copy = &claim->copies[i];
        bool concerns_us = copy->role == COPY_INBOX || (copy->claimed_by != LEDGER_OTHER && !copy->claimed_by_finished);
        if (concerns_us && copy->state == COPY_APPENDING && copy->attempt_age_ms < within_ms)
            return true;
    }
    return false;
}

enum ledger_result ledger_lock(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault)
{
    int64_t wait = ledger->config->lock.wait;
    int64_t until = base_now_ms() + wait;
    for (int64_t pause = POLL_FIRST_MS;; pause = pause * 2 < POLL_LONGEST_MS ? pause * 2 : POLL_LONGEST_MS) {
        bool kept = ledger->pg != NULL;
        enum ledger_result result = try_lock(ledger, claim, fault);
        if (result == LEDGER_TROUBLE && ledger_lost_kept(ledger, kept))
            result = try_lock(ledger, claim, fault);
        bool again = result == LEDGER_HELD || (result == LEDGER_OK && just_claimed(claim, wait));
        if (!again || base_now_ms() >= until)
            return result;
        if (result == LEDGER_OK)
            ledger_rollback(ledger);
        pause_ms(pause);
    }
}
