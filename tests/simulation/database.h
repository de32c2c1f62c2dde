/* SPDX-License-Identifier: ISC
 *
 * The database: sessions, the locks of their transactions, leases, and batches, which are executed whether their client
 * is still alive or not. Locked rows (lock.method = row) are like other locks, only that messages share them. Locks that
 * end with their session are leases that do not expire, and whose owner is the session. */
#ifndef ONCEDROP_SIMULATION_DATABASE_H
#define ONCEDROP_SIMULATION_DATABASE_H

#include "faults.h"
#include "ledger/ledger.h"
#include "tables.h"

struct session {
    bool alive;
    bool has_lock;
    uint64_t lock;
    struct batch *running;
};

/* What happens to a batch. */
enum fate {
    FATE_DONE,
    FATE_LOST,           /* the connection is lost before it is executed */
    FATE_UNTOLD,         /* executed, but the connection is lost after its COMMIT, without ... */
    FATE_RECORDED_TODAY, /* ... or with an answer */
    FATE_ROLLED_BACK,
    FATE_LATE, /* abandoned by its client, executed later */
};

/* Statements, COMMIT, and then perhaps the hold: BEGIN, the lock (with a wait), and a count. */
struct batch {
    struct session *session;
    struct process *process; /* that waits for it; NULL: none any more */
    struct statements statements;
    enum fate fate;
    int64_t late_by, back; /* how late; how long its answers take */
    uint64_t lock;
    uint64_t owner; /* of the lease; 0: the lock is the transaction's */
    int64_t lasts;  /* the lease, us */
    bool releases;  /* the lease */
    bool guarded;   /* takes the lock first, and is executed only if the message is not known */
    struct place held[TARGETS];
    size_t held_count; /* 0: no hold */
    int64_t hold_wait; /* us */
    bool lost_in_hold;
    bool waits; /* in the lock's queue */
    /* as reported to the client: */
    bool granted;   /* guarded: the lock */
    bool untold;    /* what was decided is not reported if the connection is lost behind the COMMIT */
    bool may_claim; /* guarded: decided so, and reported before the rest */
    bool ready, committed;
    bool taken[TARGETS];
    bool locked; /* the hold's transaction is open, whether its copies were still there or not */
    enum ledger_result hold;
};

void database_clear(void);

/* The database's clock. */
int64_t database_clock(void) OD_MUST;

/* It jumps: it is ahead of the present by this much, or behind it. */
void database_set_clock(int64_t ahead);

/* Time passes by all clocks, and for no process: how much has so far. */
void database_pass(int64_t us);
int64_t database_passed(void) OD_MUST;

struct session *database_connect(void) OD_MUST;
void database_end_session(struct session *session);

/* The transaction ends: its lock is free. */
void database_rollback(struct session *session);

/* pg_try_advisory_xact_lock */
bool database_try_lock(struct session *session, uint64_t key) OD_MUST;

/* The session as an owner of leases, which end with it. */
uint64_t database_owner(const struct session *session) OD_MUST;

/* lock.method = lease: table lease. They outlive sessions. */
bool database_take_lease(uint64_t key, uint64_t owner, int64_t us) OD_MUST;
void database_end_lease(uint64_t key, uint64_t owner);

struct batch *database_batch(void) OD_MUST;

/* It is executed after this time. */
void database_send(struct batch *batch, int64_t after);

/* Ends the session that the process has then. */
void database_end_session_of(struct process *process, int64_t after);

/* All sessions end, but most idle ones, which a pooler keeps; the newest leases may be forgotten. promoted: it is a replica,
 * whose clock differs slightly. */
void database_end_all(struct dice *dice, bool promoted);

#endif
