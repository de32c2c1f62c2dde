/* SPDX-License-Identifier: ISC
 *
 * A worker of `replay`, `resume` and `restore`: loads the message of a task and delivers it as `deliver` and `lmtp` do.
 * Processes exchange tasks and results (replay_answer.h) as JSON. */
#ifndef ONCEDROP_REPLAY_TASK_H
#define ONCEDROP_REPLAY_TASK_H

#include <glib.h>

#include "delivery/delivery.h"
#include "replay/replay_answer.h"

/* A message and its envelope, from any source. It owns its strings. */
struct replay_message {
    struct message *message;
    char *sender;
    char *queue_id;            /* may be NULL */
    char **recipients;         /* NULL-terminated */
    char **originals;          /* for each recipient, "" if none; NULL: none at all */
    bool sender_known;         /* sender_route is set */
    struct route sender_route; /* account NULL: no Sent copy is due */
    int64_t received_at;       /* 0: now */
    bool id_only;              /* its bytes are unknown: only search for it (delivery.h) */
};

struct replay_worker;

/* What to deliver, and how. */
struct replay_setup {
    const char *command;
    const char *hint; /* how to continue if something is left to do */
    const struct config *config;
    size_t total; /* number of messages; 0: unknown */
    /* Sets the next message: a new string, its name for display, and its number for `load`. Returns false at the end,
     * or with the error set. */
    bool (*next)(void *context, char **ret_name, int64_t *ret_number, struct fault *fault);
    /* Called in a worker, which is a copy of next's process at the worker's start. Sets *ret only with
     * REPLAY_LOADED. */
    enum replay_load (*load)(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                             struct fault *fault);
    void *context; /* of both */
    size_t jobs;   /* workers, at least 1 */
    enum delivery_again again;
    const char *only_account; /* as in struct delivery_request; others are not reported */
    bool restores;            /* count copies, also deleted and missing ones */
    bool dry_run;
    bool json; /* an object for each message */
};

/* A worker's state; its connections outlive a message. */
struct replay_worker {
    const struct replay_setup *setup;
    struct ledger *ledger; /* NULL before the first use and after an error: replay_task_ledger */
    struct sessions *sessions;
};

/* Call once in a worker's process, before its first task. */
struct replay_worker *replay_task_begin(const struct replay_setup *setup) OD_MUST;

/* Does a task {number, left} and returns its result. left: an array of recipients; null: all. */
json_t *replay_task_serve(struct replay_worker *worker, const json_t *task) OD_MUST;

/* Returns the worker's ledger, connected; NULL with the error set. */
struct ledger *replay_task_ledger(struct replay_worker *worker, struct fault *fault) OD_MUST;

#endif
