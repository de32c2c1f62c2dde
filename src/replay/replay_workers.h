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
 * with the fault set if no process can be started: the task was not begun. */
bool workers_give(struct workers *workers, const json_t *task, void *tag, struct fault *fault) OD_MUST;

/* Waits for an answer for at most `ms` milliseconds, or until a signal arrives.
 *
 * Returns the task's tag, or NULL: there was no answer. *ret_answer is new, or NULL if the worker died; *ret_status is then
 * its wait status (waitpid(2)). */
void *workers_wait(struct workers *workers, int ms, json_t **ret_answer, int *ret_status) OD_MUST;

/* Lets the workers finish their current tasks, and waits for them to end. */
void workers_free(struct workers **workers);

#endif
