/* SPDX-License-Identifier: ISC
 *
 * What goes wrong. A process's faults are planned by the number of its step, and strike as what can go wrong at the call
 * that is its step then; those that concern everybody are planned by time. */
#ifndef ONCEDROP_SIMULATION_FAULTS_H
#define ONCEDROP_SIMULATION_FAULTS_H

#include "world.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_DEATH,          /* before what is asked for is done, or behind it */
    FAULT_DEADLINE,       /* the same, by its deadline */
    FAULT_STOP,           /* stopped, and goes on later; its session may have ended meanwhile */
    FAULT_SESSION_ENDS,   /* the database ends its session; it finds out when it uses it */
    FAULT_DATABASE_AWAY,  /* connection lost, not done */
    FAULT_ANSWER_LOST,    /* connection lost, done */
    FAULT_ROLLED_BACK,    /* an error, and COMMIT rolls back */
    FAULT_LATE_COMMIT,    /* connection lost, done later, or when its process is dead */
    FAULT_HOLD_LOST,      /* committed, and the connection lost behind that */
    FAULT_IMAP_AWAY,      /* no session, or lost before the literal */
    FAULT_REFUSED_BEFORE, /* NO before the literal */
    FAULT_APPEND_LOST,    /* connection lost in the literal, or before the answer: not stored, ... */
    FAULT_APPEND_UNTOLD,  /* ... stored, ... */
    FAULT_APPEND_LATE,    /* ... stored later */
    FAULT_APPEND_NO,      /* NO behind the literal: stored or not */
    FAULT_SEARCH_FAILED,
    FAULT_DECODER,
    FAULT_READER_GONE, /* Postfix was stopped */
    FAULT_PROMOTION,   /* the database's replica takes over: all sessions end, its clock is another */
    FAULT_DATABASE_RESTART,
    FAULT_IMAP_RESTART,
    FAULT_HOST_CRASH, /* its processes die; the database finds out late */
    FAULT_CLOCK_JUMP, /* a host's wall clock */
    FAULT_KINDS,
};

extern const char *const fault_names[FAULT_KINDS];
extern uint64_t fault_counts[FAULT_KINDS];

/* Those that are left out, by number (shrink.h). */
extern bool fault_off[FAULTS];
/* Those that struck, in this episode. */
extern bool fault_struck[FAULTS];

enum call_kind {
    CALL_DECODE,
    CALL_LOOKUP,
    CALL_CONNECT,
    CALL_LOOK,
    CALL_CLAIM,
    CALL_HOLD,
    CALL_SETTLE,
    CALL_LOGIN,
    CALL_SEARCH,
    CALL_APPEND,
    CALL_LITERAL,
    CALL_KINDS,
};

/* A call into a simulated layer: out, done, and back. */
struct call {
    enum fault_kind fault;
    int half; /* in which a death, a stop, ... strikes: 0 before it is done, 1 behind that */
    int64_t time[2];
    int64_t late_by; /* of a COMMIT that is late */
    struct dice dice;
};

struct call call_begin(enum call_kind kind) OD_MUST;

/* One half of it. False: the process is dead. */
bool call_pass(struct call *call, int half) OD_MUST;

/* Whether a process that uses its lost session sees that before: mostly, not always. */
bool fault_loss_is_seen(void) OD_MUST;

/* It turns out to be the last call of this process: a fault that is still to come strikes behind it. */
void call_last(struct call *call, enum call_kind kind);

/* Plans a process's faults. */
void faults_plan(struct process *process);

/* Plans those that concern everybody, up to a time. */
void faults_plan_troubles(int64_t until);

#endif
