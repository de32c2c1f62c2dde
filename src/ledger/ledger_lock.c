/* SPDX-License-Identifier: ISC
 *
 * The lock of a delivery in its session: an open transaction, or a lease between transactions. */
#include "ledger/ledger_session.h"

#define LEASE_MS 60000           /* at most; a delivery renews it when a third of it has passed */
#define RENEWAL_MS INT64_C(5000) /* how long the answer to a renewal is waited for */

/* Shorter than the deadline, which ends the process: after its death others wait no longer than that. */
static int64_t lease_ms(const struct config *config)
{
    return config->delivery.deadline / 2 < LEASE_MS ? config->delivery.deadline / 2 : LEASE_MS;
}

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
        .lasts_ms = lease_ms(ledger->config),
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
    ledger->renewed_ms = base_now_ms();
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

void ledger_renew(struct ledger *ledger)
{
    struct fault ignored;
    bool due = ledger->leased && base_now_ms() - ledger->renewed_ms >= lease_ms(ledger->config) / 3;
    if (!due || ledger->pg == NULL || !pg_usable(ledger->pg) || pg_mark(ledger->pg) > 0) /* a batch is under way */
        return;
    ledger->renewed_ms = base_now_ms();
    pg_set_timeout(ledger->pg, RENEWAL_MS);
    if (ledger_add_begin_idle(ledger, &ignored) && lock_add_reassert(ledger->pg, &ledger->lock, &ignored) &&
        pg_add(ledger->pg, "COMMIT", 0, NULL, &ignored) && pg_send(ledger->pg, &ignored))
        ledger_finish(ledger);
}
