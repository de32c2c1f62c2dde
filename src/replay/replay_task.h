/* SPDX-License-Identifier: ISC
 *
 * A worker: delivers a task's message as `deliver` and `lmtp` do. Tasks and results (replay_result.h) are JSON. */
#ifndef ONCEDROP_REPLAY_TASK_H
#define ONCEDROP_REPLAY_TASK_H

#include <glib.h>

#include "delivery/delivery.h"
#include "replay/replay_result.h"

/* A message and its envelope; owns its strings. */
struct replay_message {
    struct message *message;
    char *sender;
    char *queue_id;            /* or NULL */
    char **recipients;         /* NULL-terminated */
    char **originals;          /* of recipients, "" if none; or NULL */
    bool sender_known;         /* sender_route is set */
    struct route sender_route; /* account NULL: no Sent copy is due */
    int64_t received_at;       /* 0: now */
    bool id_only;              /* bytes unknown: only search for it (delivery.h) */
};

struct replay_worker;

struct replay_setup {
    const char *command;
    const char *hint; /* how to continue */
    const struct config *config;
    size_t total; /* of messages; 0: unknown */
    /* Sets the next message's number and its name for display, a new string. Returns false at the end, or with the
     * error set. */
    bool (*next)(void *context, char **ret_name, int64_t *ret_number, struct error *error);
    /* Called in a worker, a copy of the parent at the worker's start. Sets *ret only with REPLAY_LOADED. */
    enum replay_load (*load)(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                             struct error *error);
    void *context;
    size_t jobs; /* workers, at least 1 */
    enum delivery_redeliver redeliver;
    const char *only_account; /* as in struct delivery_request */
    bool restores;            /* count copies, also deleted and missing */
    bool dry_run;
    bool json;
};

/* Connections outlive a message. */
struct replay_worker {
    const struct replay_setup *setup;
    struct ledger *ledger; /* NULL at first and after an error */
    struct sessions *sessions;
};

/* Call first in a worker. */
struct replay_worker *replay_task_begin(const struct replay_setup *setup) OD_MUST;

/* task: {number, left}; left: an array of recipients; null: all. Returns the result. */
json_t *replay_task_serve(struct replay_worker *worker, const json_t *task) OD_MUST;

/* Connects if necessary. Returns NULL with the error set. */
struct ledger *replay_task_ledger(struct replay_worker *worker, struct error *error) OD_MUST;

#endif
