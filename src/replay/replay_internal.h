/* SPDX-License-Identifier: ISC
 *
 * What the files of replay/ share. */
#ifndef ONCEDROP_REPLAY_INTERNAL_H
#define ONCEDROP_REPLAY_INTERNAL_H

#include "base/base.h"
#include "replay/replay.h"

/* replay_open.c
 * Opens files whose owners may replace them at any time, as by a link or a pipe. */

/* Opens a file or directory, without waiting, and without symbolic links in the path. as_root: a file must belong to
 * its directory's owner, who could link to another's, or the directory to root.
 *
 * Returns the descriptor; -1 with the error and errno set: ELOOP for what is not read. */
int replay_open(const char *path, bool as_root, struct error *error) OD_MUST;

/* Copies standard input, readable only once, to an unnamed file. Returns its descriptor; -1 with the error set. */
int replay_open_input(struct error *error) OD_MUST;

/* replay_output.c
 * Results on stdout; a counter and failures on stderr. */

enum replay_count {
    REPLAY_STORED,
    REPLAY_DUPLICATE,
    REPLAY_DELETED, /* this and the next: restore only */
    REPLAY_MISSING,
    REPLAY_DEFERRED,
    REPLAY_FAILED,
    REPLAY_COUNTS
};

struct replay_output;

struct replay_output *replay_output_new(const struct replay_setup *setup) OD_MUST;

/* Reports a message, and completes its result. */
void replay_output_message(struct replay_output *output, const char *name, json_t *result);

/* Stops printing lines, except JSON; the end gives one reason for all. */
void replay_output_stop(struct replay_output *output, const char *reason);

/* Call regularly. waiting: messages that other deliveries are making. */
void replay_output_progress(struct replay_output *output, size_t waiting);

/* Prints that the last messages wait for other deliveries, for left_ms at most. */
void replay_output_waiting(struct replay_output *output, size_t count, int64_t left_ms);

size_t replay_output_count(const struct replay_output *output, enum replay_count count) OD_MUST;

/* Prints the summary. left: something is left to do. failed: an error reported elsewhere ended the run; prints nothing
 * without a message. */
void replay_output_end(struct replay_output **output, bool left, bool failed);

/* replay_workers.c
 * Worker processes, not threads: a deadline ends its process, and a death costs only its task. If the parent dies, each
 * worker ends after its task. */

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
