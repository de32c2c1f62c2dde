/* SPDX-License-Identifier: ISC
 *
 * What goes wrong. Faults of a process are planned by step number, and take the form that is possible for the call at
 * that step; those that concern everybody are planned by time. */
#ifndef ONCEDROP_SIMULATION_FAULTS_H
#define ONCEDROP_SIMULATION_FAULTS_H

#include "world.h"

enum error_kind {
    ERROR_NONE,
    ERROR_DEATH,          /* before or after the call takes effect */
    ERROR_DEADLINE,       /* the same, by its deadline */
    ERROR_DEATH_EARLY,    /* when all but the last byte of a message is sent */
    ERROR_STOP,           /* stopped, and continued later; its session may have ended meanwhile */
    ERROR_SESSION_ENDS,   /* the database ends its session; it notices when using it */
    ERROR_DATABASE_AWAY,  /* connection lost, not done */
    ERROR_REPLY_LOST,     /* connection lost, done */
    ERROR_ROLLED_BACK,    /* an error, and COMMIT rolls back */
    ERROR_LATE_COMMIT,    /* connection lost, executed later, or when its process is dead */
    ERROR_HOLD_LOST,      /* committed, and the connection lost after that */
    ERROR_IMAP_AWAY,      /* no session, or lost before the literal */
    ERROR_REFUSED_BEFORE, /* NO before the literal */
    ERROR_APPEND_LOST,    /* connection lost in the literal, or before the answer: not stored, ... */
    ERROR_APPEND_UNTOLD,  /* ... stored, ... */
    ERROR_APPEND_LATE,    /* ... stored later */
    ERROR_APPEND_NO,      /* NO after the literal: stored or not */
    ERROR_SEARCH_FAILED,
    ERROR_SEARCH_MISSES, /* by text it finds nothing */
    ERROR_DECODER,
    ERROR_READER_GONE, /* Postfix was stopped */
    ERROR_PROMOTION,   /* the database's replica takes over: all sessions end, and its clock differs */
    ERROR_DATABASE_RESTART,
    ERROR_IMAP_RESTART,
    ERROR_HOST_CRASH, /* its processes die; the database notices late */
    ERROR_CLOCK_JUMP, /* a host's wall clock, or the database's */
    ERROR_KINDS,
};

extern const char *const error_names[ERROR_KINDS];
extern uint64_t error_counts[ERROR_KINDS];

/* Faults to leave out, by number (shrink.h). */
extern bool error_off[FAULTS];
/* Faults that struck in this episode. */
extern bool error_struck[FAULTS];

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
    enum error_kind error;
    int half; /* the half in which a death, a stop, ... strikes: 0 before the effect, 1 after it */
    int64_t time[2];
    int64_t late_by; /* of a COMMIT that is late */
    struct dice dice;
};

struct call call_begin(enum call_kind kind) OD_MUST;

/* Passes one half of it. False: the process is dead. */
bool call_pass(struct call *call, int half) OD_MUST;

/* Whether a process that uses its lost session notices that first: mostly, not always. */
bool error_loss_is_seen(void) OD_MUST;

/* Whether a claim is made without reading the state before, if it can be: half of the time. */
bool call_claims_if_new(void) OD_MUST;

/* This is the last call of this process: a fault that is still to come strikes after it. */
void call_last(struct call *call, enum call_kind kind);

/* Plans the faults of a process. */
void errors_plan(struct process *process);

/* Plans those that concern everybody, up to a time. */
void errors_plan_troubles(int64_t until);

#endif
