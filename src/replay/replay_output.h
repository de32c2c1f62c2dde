/* SPDX-License-Identifier: ISC
 *
 * The output of `replay`, `resume` and `restore`: a line for each recipient, or a JSON object for each message, on stdout; on
 * stderr a progress bar, if it is a terminal, and the list of failures. */
#ifndef ONCEDROP_REPLAY_OUTPUT_H
#define ONCEDROP_REPLAY_OUTPUT_H

#include "replay/replay_task.h"

/* Recipients by result. */
enum replay_count {
    REPLAY_STORED,
    REPLAY_DUPLICATE,
    REPLAY_DELETED, /* of restore only, as is the next */
    REPLAY_MISSING,
    REPLAY_DEFERRED,
    REPLAY_FAILED,
    REPLAY_COUNTS
};

struct replay_output;

struct replay_output *replay_output_new(const struct replay_setup *setup) OD_MUST;

/* Reports what became of a message; completes the answer. */
void replay_output_message(struct replay_output *output, const char *name, json_t *answer);

/* From now on messages are counted, but have no lines (JSON they have): there is one reason for all, told at the end. */
void replay_output_stop(struct replay_output *output, const char *reason);

/* To be called regularly: updates the progress bar. waiting: messages that other deliveries are making. */
void replay_output_progress(struct replay_output *output, size_t waiting);

/* Prints that only this many messages are left, that they wait for other deliveries, and for how long at most. */
void replay_output_waiting(struct replay_output *output, size_t count, int64_t left_ms);

size_t replay_output_count(const struct replay_output *output, enum replay_count count) OD_MUST;

/* Prints the summary, and frees the output.
 *
 * left    not everything was tried, or is in place: prints how to continue
 * failed  an error that is reported otherwise ended the run: nothing is said if no message was done with */
void replay_output_end(struct replay_output **output, bool left, bool failed);

#endif
