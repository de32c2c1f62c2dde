/* SPDX-License-Identifier: ISC
 *
 * The lock of a delivery in its session: an open transaction, or a lease between transactions. */
#include "ledger/ledger_session.h"

bool ledger_leases(const struct ledger *ledger)
{
    return lock_outlives_transaction(ledger->config->lock.method);
}

struct lock ledger_lock(const struct ledger *ledger, int64_t key)
{
    return (struct lock){
        .method = ledger->config->lock.method,
        .key = key,
        .owner = ledger->lock.owner,
        .lasts_ms = ledger->config->delivery.deadline, /* which ends whoever has it */
        .host = ledger->host,
        .session = ledger->application,
    };
}

bool ledger_set_lock(struct ledger *ledger, int64_t key, struct fault *fault)
{
    if (ledger_leases(ledger) && !base_random(&ledger->lock.owner, fault))
        return false;
    ledger->lock = ledger_lock(ledger, key);
    ledger->leased = false;
    return true;
}

void ledger_note_lock(struct ledger *ledger, bool held)
{
    ledger->in_transaction = held && !ledger_leases(ledger);
    ledger->leased = held && ledger_leases(ledger);
}

bool ledger_add_rollback(struct ledger *ledger, struct fault *fault)
{
    return (ledger_leases(ledger) && !pg_in_transaction(ledger->pg)) || pg_add(ledger->pg, "ROLLBACK", 0, NULL, fault);
}

bool ledger_add_release(struct ledger *ledger, struct fault *fault)
{
    return !ledger->leased || lock_add_release(ledger->pg, &ledger->lock, fault);
}

bool ledger_add_end(struct ledger *ledger, struct fault *fault)
{
    return !ledger_leases(ledger) || pg_add(ledger->pg, "COMMIT", 0, NULL, fault);
}

/* Nobody waits for the disk to release a lease. */
static bool add_release(struct ledger *ledger, struct fault *fault)
{
    return ledger_add_begin_idle(ledger, fault) && lock_add_release(ledger->pg, &ledger->lock, fault) &&
           pg_add(ledger->pg, "COMMIT", 0, NULL, fault);
}

void ledger_rollback(struct ledger *ledger)
{
    struct fault ignored;
    bool usable = ledger->pg != NULL && pg_usable(ledger->pg);
    bool idle = usable && ledger_leases(ledger) && !ledger->leased && !pg_in_transaction(ledger->pg);
    bool sent = usable && !idle && ledger_add_rollback(ledger, &ignored) &&
                (!ledger->leased || add_release(ledger, &ignored)) && pg_send(ledger->pg, &ignored);
    ledger->in_transaction = ledger->leased = false;
    if (sent)
        ledger_finish(ledger);
}
