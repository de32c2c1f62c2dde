/* SPDX-License-Identifier: ISC
 *
 * Worker processes, each with one task at a time. Processes, not threads: a delivery's deadline ends its process, and
 * one that dies costs its own task and nothing else. When the parent dies, each worker ends after the task it has. */
#ifndef ONCEDROP_WORKERS_H
#define ONCEDROP_WORKERS_H

#include <glib.h>

#include "base/base.h"

struct workers;

/* What a worker does; called in its process. */
struct workers_calls {
    void *(*begin)(const void *context);         /* once, before its first task; returns its state */
    GBytes *(*serve)(void *state, GBytes *task); /* one task; returns the answer */
};

/* Nothing is started yet. context is given to `begin`. */
struct workers *workers_new(size_t count, const struct workers_calls *calls, const void *context) OD_MUST;

/* Whether a worker has nothing to do. */
bool workers_idle(const struct workers *workers) OD_MUST;

/* How many tasks are under way. */
size_t workers_busy(const struct workers *workers) OD_MUST;

/* Gives a task to an idle worker, which is started when there is none yet; tag comes back with the answer. False with the
 * fault set when no process is to be had: the task is still the caller's. */
bool workers_give(struct workers *workers, GBytes *task, void *tag, struct fault *fault) OD_MUST;

/* Waits for an answer, at most `ms` milliseconds (-1: without limit), or until a signal comes.
 *
 * True: *ret_tag is the task's; *ret_answer the answer (g_bytes_unref), or NULL when its worker died, of which
 * *ret_status is the wait status (waitpid(2)). False: none came. */
bool workers_wait(struct workers *workers, int64_t ms, void **ret_tag, GBytes **ret_answer, int *ret_status) OD_MUST;

/* Ends the workers after what they are at, and waits for them. */
void workers_free(struct workers **workers);

#endif
