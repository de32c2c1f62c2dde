/* SPDX-License-Identifier: ISC
 *
 * Who holds which lock, who waits for it, and what a batch does when its turn comes. */
#include "database.h"

#include <stdlib.h>
#include <string.h>

#include "breakage.h"
#include "client.h"
#include "scheduler.h"

#define SESSIONS 8192
#define BATCHES 8192
#define CLOCK_MAX (3 * SECOND) /* maximum error of a replica's clock */

static struct session sessions[SESSIONS];
static struct batch batches[BATCHES];
static size_t session_count, batch_count;
static int64_t skew, passed;

static struct session *holders[SESSIONS]; /* of locks */
static size_t holder_count;

/* Batches that wait for a lock, in order. */
static struct batch *queue[PROCESSES];
static size_t queue_count;

static struct lease {
    uint64_t key, owner;
    int64_t taken, expires;
} leases[SESSIONS]; /* table lease */
static size_t lease_count;

void database_clear(void)
{
    lease_count = 0;
    session_count = batch_count = queue_count = holder_count = 0;
    skew = passed = 0;
}

int64_t database_clock(void)
{
    return now + skew + passed;
}

void database_set_clock(int64_t ahead)
{
    skew = ahead;
}

void database_pass(int64_t us)
{
    passed += us;
}

int64_t database_passed(void)
{
    return passed;
}

struct session *database_connect(void)
{
    if (session_count == SESSIONS)
        abort();
    struct session *session = &sessions[session_count++];
    *session = (struct session){.alive = true};
    return session;
}

static bool is_free(uint64_t key)
{
    for (size_t i = 0; i < holder_count; i++)
        if (holders[i]->lock == key)
            return false;
    return true;
}

static void take_lock(struct session *session, uint64_t key)
{
    if (session->has_lock || holder_count == SESSIONS)
        abort(); /* a delivery has one lock at a time */
    session->has_lock = true;
    session->lock = key;
    holders[holder_count++] = session;
}

static void drop_lock(struct session *session)
{
    size_t i = 0;
    while (holders[i] != session)
        i++;
    holders[i] = holders[--holder_count];
    session->has_lock = false;
}

static struct lease *find_lease(uint64_t key)
{
    for (size_t i = 0; i < lease_count; i++)
        if (leases[i].key == key)
            return &leases[i];
    return NULL;
}

bool database_take_lease(uint64_t key, uint64_t owner, int64_t us)
{
    struct lease *lease = find_lease(key);
    if (lease != NULL && lease->owner != owner && lease->expires > database_clock() &&
        lease->taken <= database_clock() + us)
        return false;
    if (lease == NULL && lease_count == SESSIONS)
        abort();
    if (lease == NULL)
        lease = &leases[lease_count++];
    *lease = (struct lease){.key = key, .owner = owner, .taken = database_clock(), .expires = database_clock() + us};
    return true;
}

static bool renew_lease(uint64_t key, uint64_t owner, int64_t us)
{
    struct lease *lease = find_lease(key);
    if (lease == NULL || lease->owner != owner)
        return false;
    lease->taken = database_clock();
    lease->expires = database_clock() + us;
    return true;
}

void database_end_lease(uint64_t key, uint64_t owner)
{
    struct lease *lease = find_lease(key);
    if (lease != NULL && lease->owner == owner)
        *lease = leases[--lease_count];
}

uint64_t database_owner(const struct session *session)
{
    return (uint64_t)(session - sessions) + 1;
}

static bool has_lease(const struct session *session)
{
    for (size_t i = 0; i < lease_count; i++)
        if (leases[i].owner == database_owner(session))
            return true;
    return false;
}

static void drop_leases(const struct session *session)
{
    for (size_t i = lease_count; i-- > 0;)
        if (leases[i].owner == database_owner(session))
            leases[i] = leases[--lease_count];
}

/* The lock manager serves in order: waiting batches precede one that tries. */
static bool is_waited_for(uint64_t key)
{
    for (size_t i = 0; i < queue_count; i++)
        if (queue[i]->lock == key)
            return true;
    return false;
}

bool database_try_lock(struct session *session, uint64_t key)
{
    if (is_waited_for(key) || !is_free(key))
        return false;
    take_lock(session, key);
    return true;
}

static void tell_client(void *what, uint32_t tag)
{
    struct batch *batch = what;
    (void)tag;
    if (batch->ready)
        return;
    batch->ready = true;
    if (batch->process != NULL && batch->process->waiting == batch)
        process_wake(batch->process);
}

static void tell_guard(void *what, uint32_t tag)
{
    struct batch *batch = what;
    (void)tag;
    if (batch->ready)
        return;
    batch->may_claim = true;
    if (batch->process != NULL && batch->process->waiting == batch)
        process_wake(batch->process);
}

static void reply(struct batch *batch)
{
    schedule(now + batch->back, tell_client, batch, 0);
}

/* From now on the client will not learn of any more results. */
static void lose(struct batch *batch, bool committed)
{
    if (batch->ready)
        return;
    batch->committed = committed;
    batch->hold = LEDGER_ERROR;
    reply(batch);
}

static void leave_queue(struct batch *batch)
{
    size_t i = 0;
    while (queue[i] != batch)
        i++;
    memmove(&queue[i], &queue[i + 1], (--queue_count - i) * sizeof(queue[0]));
    batch->waits = false;
}

static void hold(struct batch *batch)
{
    struct session *session = batch->session;
    bool leased = batch->owner != 0;
    if (!leased)
        take_lock(session, batch->lock);
    session->running = NULL;
    batch->locked = !leased || renew_lease(batch->lock, batch->owner, batch->lasts);
    size_t ours = tables_held(batch->statements.key, batch->statements.token, batch->held, batch->held_count);
    bool all = ours == batch->held_count || breakage == BREAK_HOLD_UNCHECKED;
    batch->hold = batch->locked && all ? LEDGER_OK : LEDGER_BUSY;
    if (batch->lost_in_hold) {
        batch->hold = LEDGER_ERROR;
        database_end_session(session);
    }
    reply(batch);
}

static void serve_queue(uint64_t key)
{
    for (size_t i = 0; i < queue_count; i++)
        if (queue[i]->lock == key) {
            struct batch *batch = queue[i];
            if (is_free(key)) {
                leave_queue(batch);
                hold(batch);
            }
            return;
        }
}

void database_rollback(struct session *session)
{
    if (!session->has_lock)
        return;
    drop_lock(session);
    serve_queue(session->lock);
}

void database_end_session(struct session *session)
{
    struct batch *batch = session->running;
    if (!session->alive)
        return;
    session->alive = false;
    session->running = NULL;
    if (batch != NULL) {
        if (batch->waits)
            leave_queue(batch);
        lose(batch, batch->committed);
    }
    drop_leases(session);
    database_rollback(session);
}

static void give_up_waiting(void *what, uint32_t tag)
{
    struct batch *batch = what;
    (void)tag;
    if (!batch->waits)
        return;
    leave_queue(batch);
    batch->session->running = NULL;
    batch->hold = LEDGER_BUSY; /* lock_timeout */
    reply(batch);
}

static void begin_hold(void *what, uint32_t tag)
{
    struct batch *batch = what;
    (void)tag;
    if (!batch->session->alive)
        return;
    if (batch->guarded && batch->owner == 0 &&
        tables_held(batch->statements.key, batch->statements.token, batch->held, batch->held_count) == 0) {
        batch->session->running = NULL;
        batch->hold = LEDGER_BUSY; /* step relock_claimed */
        reply(batch);
        return;
    }
    if (batch->owner != 0 || (!is_waited_for(batch->lock) && is_free(batch->lock))) {
        hold(batch);
        return;
    }
    batch->waits = true;
    queue[queue_count++] = batch;
    schedule(now + batch->hold_wait, give_up_waiting, batch, 0);
}

static void end_lost(void *what, uint32_t tag)
{
    (void)tag;
    database_end_session(what);
}

/* Steps lock_* and claim_guard. */
static bool may_claim(struct batch *batch)
{
    batch->granted = batch->owner != 0 ? database_take_lease(batch->lock, batch->owner, batch->lasts)
                                       : database_try_lock(batch->session, batch->lock);
    return batch->granted && (breakage == BREAK_GUARD_UNCHECKED || !tables_has_identity(batch->statements.key));
}

/* The COMMIT commits nothing. */
static void refuse(struct batch *batch)
{
    TELL("  (database: not a new message, or no lock)");
    database_rollback(batch->session);
    if (batch->fate == FATE_DONE || batch->fate == FATE_ROLLED_BACK) {
        batch->session->running = NULL;
        reply(batch);
    } else {
        database_end_session(batch->session);
    }
}

static void execute(void *what, uint32_t tag)
{
    struct batch *batch = what;
    struct session *session = batch->session;
    (void)tag;
    if (!session->alive)
        return;
    if (batch->fate == FATE_LOST) {
        database_end_session(session);
        return;
    }
    if (batch->guarded && !may_claim(batch)) {
        refuse(batch);
        return;
    }
    if (batch->guarded && batch->fate != FATE_LATE && !(batch->fate == FATE_UNTOLD && batch->untold))
        schedule(now + batch->back, tell_guard, batch, 0);
    bool done = batch->fate != FATE_ROLLED_BACK;
    if (done)
        tables_execute(&batch->statements, database_clock(), batch->taken);
    if (done && batch->releases)
        database_end_lease(batch->lock, batch->owner);
    TELL("  (database: %s %s)", batch->statements.is_claim ? "claim" : "settling", done ? "committed" : "rolled back");
    if (batch->fate == FATE_UNTOLD || batch->fate == FATE_LATE) {
        if (done && batch->held_count > 0 && batch->owner != 0) /* the hold is executed, too */
            (void)!renew_lease(batch->lock, batch->owner, batch->lasts);
        database_end_session(session);
        return;
    }
    batch->committed = done;
    database_rollback(session);
    if (batch->fate == FATE_RECORDED_TODAY) {
        database_end_session(session);
    } else if (done && batch->held_count > 0) { /* otherwise the rest of the batch is skipped */
        schedule(now + 100, begin_hold, batch, 0);
    } else {
        session->running = NULL;
        reply(batch);
    }
}

struct batch *database_batch(void)
{
    if (batch_count == BATCHES)
        abort();
    struct batch *batch = &batches[batch_count++];
    memset(batch, 0, sizeof(*batch));
    return batch;
}

void database_send(struct batch *batch, int64_t after)
{
    struct session *session = batch->session;
    if (!session->alive) {
        lose(batch, false);
        return;
    }
    if (batch->fate == FATE_LATE) {
        /* the client loses it; until then the session keeps its state, including its lock */
        batch->hold = LEDGER_ERROR;
        reply(batch);
        after += batch->late_by;
    } else {
        session->running = batch;
    }
    schedule(now + after, execute, batch, 0);
}

void database_end_session_of(struct process *process, int64_t after)
{
    struct session *session = ledger_session(process->ledger);
    if (session != NULL && session->alive)
        schedule(now + after, end_lost, session, 0);
}

void database_end_all(struct dice *dice, bool promoted)
{
    for (size_t i = 0; i < session_count; i++) {
        bool idle = sessions[i].running == NULL && !sessions[i].has_lock && !has_lease(&sessions[i]);
        if (!idle || dice_percent(dice, 20)) /* else there is a pooler, and it does not notice */
            database_end_session(&sessions[i]);
    }
    if (dice_percent(dice, 50)) /* no client waits until the disk has them */
        lease_count = 0;
    if (promoted && !world.one_host)
        skew = dice_between(dice, -CLOCK_MAX, CLOCK_MAX);
}
