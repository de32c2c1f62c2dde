/* SPDX-License-Identifier: ISC
 *
 * What goes wrong. Faults of a process are planned by step number, and take the form that is possible for the call at
 * that step; those that concern everybody are planned by time. */
#ifndef ONCEDROP_SIMULATION_FAULTS_H
#define ONCEDROP_SIMULATION_FAULTS_H

#include "world.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_DEATH,          /* before or after the call takes effect */
    FAULT_DEADLINE,       /* the same, by its deadline */
    FAULT_STOP,           /* stopped, and continued later; its session may have ended meanwhile */
    FAULT_SESSION_ENDS,   /* the database ends its session; it notices when using it */
    FAULT_DATABASE_AWAY,  /* connection lost, not done */
    FAULT_ANSWER_LOST,    /* connection lost, done */
    FAULT_ROLLED_BACK,    /* an error, and COMMIT rolls back */
    FAULT_LATE_COMMIT,    /* connection lost, executed later, or when its process is dead */
    FAULT_HOLD_LOST,      /* committed, and the connection lost after that */
    FAULT_IMAP_AWAY,      /* no session, or lost before the literal */
    FAULT_REFUSED_BEFORE, /* NO before the literal */
    FAULT_APPEND_LOST,    /* connection lost in the literal, or before the answer: not stored, ... */
    FAULT_APPEND_UNTOLD,  /* ... stored, ... */
    FAULT_APPEND_LATE,    /* ... stored later */
    FAULT_APPEND_NO,      /* NO after the literal: stored or not */
    FAULT_SEARCH_FAILED,
    FAULT_SEARCH_MISSES, /* by text it finds nothing */
    FAULT_DECODER,
    FAULT_READER_GONE, /* Postfix was stopped */
    FAULT_PROMOTION,   /* the database's replica takes over: all sessions end, and its clock differs */
    FAULT_DATABASE_RESTART,
    FAULT_IMAP_RESTART,
    FAULT_HOST_CRASH, /* its processes die; the database notices late */
    FAULT_CLOCK_JUMP, /* a host's wall clock, or the database's */
    FAULT_KINDS,
};

extern const char *const fault_names[FAULT_KINDS];
extern uint64_t fault_counts[FAULT_KINDS];

/* Faults to leave out, by number (shrink.h). */
extern bool fault_off[FAULTS];
/* Faults that struck in this episode. */
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

/* A call into a simulated layer: before, effect, and after. */
struct call {
    enum fault_kind fault;
    int half; /* the half in which a death, a stop, ... strikes: 0 before the effect, 1 after it */
    int64_t time[2];
    int64_t late_by; /* of a COMMIT that is late */
    struct dice dice;
};

struct call call_begin(enum call_kind kind) OD_MUST;

/* Passes one half of it. False: the process is dead. */
bool call_pass(struct call *call, int half) OD_MUST;

/* Whether a process that uses its lost session notices that first: mostly, not always. */
bool fault_loss_is_seen(void) OD_MUST;

/* This is the last call of this process: a fault that is still to come strikes after it. */
void call_last(struct call *call, enum call_kind kind);

/* Plans the faults of a process. */
void faults_plan(struct process *process);

/* Plans those that concern everybody, up to a time. */
void faults_plan_troubles(int64_t until);

#endif
