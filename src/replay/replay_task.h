/* SPDX-License-Identifier: ISC
 *
 * The workers of `replay` and `resume`: a worker loads the message of a task and delivers it as `deliver` and `lmtp`
 * do. Tasks and answers are passed between processes as GVariant. */
#ifndef ONCEDROP_REPLAY_TASK_H
#define ONCEDROP_REPLAY_TASK_H

#include <glib.h>

#include "delivery/delivery.h"

/* A message and its envelope, wherever they were kept. It owns its strings. */
struct replay_message {
    struct message *message;
    char *sender;
    char *queue_id;            /* may be NULL */
    GPtrArray *recipients;     /* of char * */
    GPtrArray *originals;      /* of char *, one for each recipient, "" if there is none; NULL: none at all */
    bool sender_known;         /* as in struct delivery */
    struct route sender_route; /* account NULL: no Sent copy is due */
    int64_t received_at;       /* 0: now */
};

enum replay_load {
    REPLAY_LOADED,
    REPLAY_NOTHING, /* nothing is left to do */
    REPLAY_TROUBLE, /* trouble of our own; may work later (fault set) */
    REPLAY_BAD,     /* this will never work (fault set) */
};

struct replay_worker;

/* What all workers of a run share. */
struct replay_setup {
    const struct config *config;
    /* Loads the message of a task (a GVariant of the loader's own type). Sets *ret on REPLAY_LOADED only. */
    enum replay_load (*load)(struct replay_worker *worker, GVariant *task, struct replay_message *ret,
                             struct fault *fault);
    const void *load_context;
    size_t jobs; /* number of workers, at least 1 */
    enum delivery_again again;
    bool dry_run;
};

/* The state of a worker; its connections outlive a message. */
struct replay_worker {
    const struct replay_setup *setup;
    struct ledger *ledger; /* NULL before the first use and after trouble: see replay_task_ledger */
    struct sessions *sessions;
};

/* The result for one recipient. */
struct replay_verdict {
    char *recipient;
    enum outcome outcome;
    char *text;
    char *account, *mailbox; /* "" if unknown */
    guint32 uid;             /* 0: unknown */
};

/* A parsed answer. */
struct replay_answer {
    enum replay_load load;
    char *text;       /* the fault, if the message could not be loaded */
    char *message_id; /* valid UTF-8, "" if there is none */
    char *digest;     /* hexadecimal; "" if the message could not be loaded */
    guint64 size;
    GPtrArray *verdicts; /* of struct replay_verdict * */
};

/* In a worker's process: once, before its first task; and each task, which gives an answer. */
struct replay_worker *replay_task_begin(const struct replay_setup *setup) OD_MUST;
GBytes *replay_task_serve(struct replay_worker *worker, GBytes *bytes) OD_MUST;

/* The worker's connection to the database; NULL with the fault set. */
struct ledger *replay_task_ledger(struct replay_worker *worker, struct fault *fault) OD_MUST;

/* A task: input for the loader, and the remaining recipients (NULL: all). */
GBytes *replay_task_new(GVariant *task, const char *const *recipients) OD_MUST;

struct replay_answer *replay_answer_read(GBytes *bytes) OD_MUST;
void replay_answer_free(struct replay_answer **answer);

#endif
