/* SPDX-License-Identifier: ISC
 *
 * Results on stdout; a progress bar and failures on stderr. */
#ifndef ONCEDROP_REPLAY_OUTPUT_H
#define ONCEDROP_REPLAY_OUTPUT_H

#include "replay/replay_task.h"

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

#endif
