/* SPDX-License-Identifier: ISC
 *
 * Worker processes, not threads: a deadline ends its process, and a death costs only its task. If the parent dies, each
 * worker ends after its task. */
#ifndef ONCEDROP_REPLAY_WORKERS_H
#define ONCEDROP_REPLAY_WORKERS_H

#include "replay/replay_task.h"

struct workers;

/* Starts none yet. */
struct workers *workers_new(const struct replay_setup *setup) OD_MUST;

size_t workers_busy(const struct workers *workers) OD_MUST;

/* Assigns a task to an idle worker, started if necessary; workers_wait returns tag. Returns false with the error set,
 * the task not begun. */
bool workers_assign(struct workers *workers, const json_t *task, void *tag, struct error *error) OD_MUST;

/* Waits up to `ms` milliseconds for a result, or until a signal. Returns the task's tag, or NULL without one.
 * *ret_result is new; NULL if the worker died, with *ret_status (waitpid(2)). */
void *workers_wait(struct workers *workers, int ms, json_t **ret_result, int *ret_status) OD_MUST;

/* Waits for the workers to finish. */
void workers_free(struct workers **workers);

#endif
