/* SPDX-License-Identifier: ISC
 *
 * A worker of `replay`, `resume` and `restore`: it loads the message of a task and delivers it as `deliver` and `lmtp` do. Tasks and
 * answers (replay_answer.h) are passed between processes as JSON. */
#ifndef ONCEDROP_REPLAY_TASK_H
#define ONCEDROP_REPLAY_TASK_H

#include <glib.h>

#include "delivery/delivery.h"
#include "replay/replay_answer.h"

/* A message and its envelope, wherever they were kept. It owns its strings. */
struct replay_message {
    struct message *message;
    char *sender;
    char *queue_id;            /* may be NULL */
    char **recipients;         /* NULL-terminated */
    char **originals;          /* one for each recipient, "" if there is none; NULL: none at all */
    bool sender_known;         /* sender_route is: */
    struct route sender_route; /* account NULL: no Sent copy is due */
    int64_t received_at;       /* 0: now */
    bool id_only;              /* its bytes are not known: it is only looked for (delivery.h) */
};

struct replay_worker;

/* What to deliver, and how. */
struct replay_setup {
    const char *command; /* its name */
    const char *hint;    /* how to continue if something is left to do */
    const struct config *config;
    size_t total; /* number of messages; 0: unknown */
    /* The next message: its name for display, a new string, and the number by which `load` knows it. False: there are no
     * more, or the fault is set. */
    bool (*next)(void *context, char **ret_name, int64_t *ret_number, struct fault *fault);
    /* Called in a worker's process, which is a copy of the one that calls `next`, from when the worker was started. Sets
     * *ret on REPLAY_LOADED only. */
    enum replay_load (*load)(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                             struct fault *fault);
    void *context; /* of both */
    size_t jobs;   /* number of workers, at least 1 */
    enum delivery_again again;
    const char *only_account; /* as in struct delivery_request; other accounts are not reported either */
    bool restores;            /* count what is deleted or missing, and each copy */
    bool dry_run;
    bool json; /* print an object for each message */
};

/* The state of a worker; its connections outlive a message. */
struct replay_worker {
    const struct replay_setup *setup;
    struct ledger *ledger; /* NULL before the first use and after trouble: see replay_task_ledger */
    struct sessions *sessions;
};

/* In a worker's process: once, before its first task. */
struct replay_worker *replay_task_begin(const struct replay_setup *setup) OD_MUST;

/* Does a task: {number, left}. left: the recipients, an array of texts; null: all. Returns the answer. */
json_t *replay_task_serve(struct replay_worker *worker, const json_t *task) OD_MUST;

/* The worker's connection to the database; NULL with the fault set. */
struct ledger *replay_task_ledger(struct replay_worker *worker, struct fault *fault) OD_MUST;

#endif
