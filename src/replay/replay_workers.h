/* SPDX-License-Identifier: ISC
 *
 * Worker processes, each with one task at a time. They are processes, not threads, because a delivery's deadline ends
 * its process, and a worker that dies costs only its own task. If the parent dies, each worker ends after its current
 * task. */
#ifndef ONCEDROP_REPLAY_WORKERS_H
#define ONCEDROP_REPLAY_WORKERS_H

#include "replay/replay_task.h"

struct workers;

/* setup->jobs workers; starts none yet. */
struct workers *workers_new(const struct replay_setup *setup) OD_MUST;

/* The number of tasks in progress. */
size_t workers_busy(const struct workers *workers) OD_MUST;

/* Gives a task to an idle worker, starting the worker if necessary; workers_wait returns tag with the answer. False
 * with the fault set if no process can be started: the task then stays the caller's. */
bool workers_give(struct workers *workers, GBytes *task, void *tag, struct fault *fault) OD_MUST;

/* Waits for an answer for at most `ms` milliseconds (-1: without limit), or until a signal arrives.
 *
 * True: *ret_tag is the task's tag, *ret_answer the answer (g_bytes_unref), or NULL if the worker died; *ret_status is
 * then its wait status (waitpid(2)). False: there was no answer. */
bool workers_wait(struct workers *workers, int64_t ms, void **ret_tag, GBytes **ret_answer, int *ret_status) OD_MUST;

/* Lets the workers finish their current tasks, and waits for them to end. */
void workers_free(struct workers **workers);

#endif
