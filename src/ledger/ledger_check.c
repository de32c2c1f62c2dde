/* SPDX-License-Identifier: ISC
 *
 * The lock is tested between two sessions, the record in a transaction that is rolled back. */
#include "ledger/ledger_check.h"

#include <string.h>

#include "ledger/ledger_session.h"
#include "message/decode.h"

#define CHECK_MS 4000 /* for an answer that takes a delivery a few milliseconds */

const char *ledger_check_secured(const struct ledger *ledger, bool *ret_good)
{
    return pg_secured(ledger->pg, ret_good);
}

/* BEGIN and the try-lock; *ret: whether it was granted. The transaction stays open. */
static bool begin_try(struct ledger *ledger, int64_t key, bool *ret, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    pg_set_timeout(ledger->pg, CHECK_MS);
    bool sent = ledger_add_begin(ledger, CHECK_MS, fault) &&
                lock_add_acquire(ledger->pg, ledger->config->lock.method, key, fault) && pg_send(ledger->pg, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_take(ledger->pg, pg_mark(ledger->pg) - 1, fault) : NULL;
    bool kept = pg_finish(ledger->pg);
    if (result == NULL)
        ledger_add_remedy(ledger, LEDGER_DELIVERY, fault);
    else if (!kept)
        fault_set(fault, "database: the connection is closed as soon as a transaction begins");
    else
        *ret = lock_granted(result);
    return result != NULL && kept;
}

/* A transaction of `other` got no answer while one of `ledger` was open. Finds out whether it was waiting for that
 * one. */
static void explain_silence(struct ledger *ledger, struct ledger *other, int64_t key, struct fault *fault)
{
    struct fault ignored;
    bool granted;
    if (other->pg == NULL || pg_usable(other->pg)) /* there was an answer: an error */
        return;
    ledger_rollback(ledger);
    if (begin_try(other, key, &granted, &ignored))
        fault_set(fault,
                  "a second transaction waits until the first has ended: the pool has one connection, and two"
                  " deliveries cannot run at once; give it more (PgBouncer: default_pool_size)");
}

static bool check_lock(struct ledger *ledger, struct ledger *other, int64_t key, bool *ret, struct fault *fault)
{
    bool first = false, beside = false, second = true, after = false;
    if (!begin_try(ledger, key, &first, fault))
        return false;
    if (!begin_try(other, key ^ 1, &beside, fault)) {
        explain_silence(ledger, other, key ^ 1, fault);
        return false;
    }
    ledger_rollback(other);
    if (!begin_try(other, key, &second, fault)) {
        fault_prefix(fault, "a try of a lock that is held must return at once");
        return false;
    }
    ledger_rollback(other);
    ledger_rollback(ledger);
    if (!begin_try(other, key, &after, fault))
        return false;
    *ret = first && beside && !second && after;
    if (!first || !beside)
        fault_set(fault, "the lock is not granted although it is free");
    else if (second)
        fault_set(fault,
                  "two sessions hold the same lock: this database or pooler does not exclude, or they reached two"
                  " databases; all deliveries must reach one primary");
    else if (!after)
        fault_set(fault, "the lock is not released when its transaction ends");
    return true;
}

bool ledger_check_lock(struct ledger *ledger, struct ledger *other, bool *ret, struct fault *fault)
{
    int64_t key = 0;
    bool known = ledger_random(&key, fault) && check_lock(ledger, other, key, ret, fault);
    ledger_rollback(other);
    ledger_rollback(ledger);
    return known;
}

/* Within the transaction that ledger_look has opened: writes the record, as much as record.level asks for, claims a
 * copy, and settles it. */
static bool write_delivery(struct ledger *ledger, const struct ledger_message *message,
                           const struct ledger_found *found, struct fault *fault)
{
    static char text[] = "check \xe2\x9c\x93"; /* not only ASCII: the database must accept that too */
    struct decoded_address address = {.role = "from", .position = 1, .address = text};
    struct decoded_part part = {.path = text, .type = text, .size = message->size, .text = text};
    const struct decoded decoded = {
        .subject = text,
        .from = text,
        .addresses = &address,
        .address_count = ledger->config->record.level >= RECORD_HEADERS,
        .parts = &part,
        .part_count = ledger->config->record.level >= RECORD_TEXT,
    };
    const struct ledger_copy copy = {.target = 0, .recipient = 0};
    const struct ledger_made made = {.target = 0, .state = COPY_STORED};
    struct ledger_answer answer = {.recipient = 0, .outcome = "stored", .finished = true};
    const struct ledger_answers answers = {.answers = &answer, .count = 1};
    struct ledger_claim *claim OD_CLEANUP(ledger_claim_free) = ledger_claim_new(message, found, &copy, 1);
    size_t mark;
    bool sent = ledger_add_server(ledger, fault) && ledger_add_claim(ledger, claim, found, answers, &decoded, fault) &&
                ledger_add_settle(ledger, claim, &made, 1, answers, &mark, fault) && pg_send(ledger->pg, fault);
    bool written = sent && pg_passed(ledger->pg, pg_mark(ledger->pg), fault);
    pg_finish(ledger->pg);
    return written;
}

bool ledger_check_write(struct ledger *ledger, struct fault *fault)
{
    static const struct ledger_target target = {.account = "check", .mailbox = "check", .role = COPY_SENT};
    static const struct ledger_recipient recipient = {.address = "check", .account = "check", .mailbox = "check"};
    struct ledger_message message = {
        .message_id = "check",
        .sender = "check",
        .data = "check",
        .size = 5,
        .received_at = 1,
        .targets = &target,
        .target_count = 1,
        .recipients = &recipient,
        .recipient_count = 1,
    };
    struct ledger_found *found OD_CLEANUP(base_free) = NULL;
    int64_t random[2 * LEDGER_HASH_SIZE / sizeof(int64_t)];
    for (size_t i = 0; i < sizeof(random) / sizeof(random[0]); i++)
        if (!ledger_random(&random[i], fault))
            return false;
    memcpy(message.identity, random, LEDGER_HASH_SIZE);
    memcpy(message.digest, (const char *)random + LEDGER_HASH_SIZE, LEDGER_HASH_SIZE);
    enum ledger_result result = ledger_look(ledger, &message, &found, fault);
    if (result == LEDGER_BUSY)
        fault_set(fault, "the lock is not granted although it is free");
    bool written = result == LEDGER_OK && write_delivery(ledger, &message, found, fault);
    if (!written)
        ledger_add_remedy(ledger, LEDGER_DELIVERY, fault);
    ledger_rollback(ledger);
    return written;
}
