/* SPDX-License-Identifier: ISC
 *
 * The output of `replay` and `resume`: a line for each recipient, or a JSON object for each message, on stdout; on
 * stderr a progress bar, if it is a terminal, and the list of failures. */
#ifndef ONCEDROP_REPLAY_OUTPUT_H
#define ONCEDROP_REPLAY_OUTPUT_H

#include "replay/replay_answer.h"

/* Recipients by result. */
enum replay_count { REPLAY_STORED, REPLAY_DUPLICATE, REPLAY_DEFERRED, REPLAY_FAILED, REPLAY_COUNTS };

struct replay_output;

/* command: its name. json: print one object per message. total: number of messages; 0: unknown. */
struct replay_output *replay_output_new(const char *command, bool json, bool dry_run, size_t total) OD_MUST;

/* Reports what became of a message; completes the answer. */
void replay_output_message(struct replay_output *output, const char *name, json_t *answer);

/* To be called regularly: updates the progress bar. waiting: messages that other deliveries are making. */
void replay_output_progress(struct replay_output *output, size_t waiting);

size_t replay_output_count(const struct replay_output *output, enum replay_count count) OD_MUST;

/* Prints the summary, and frees the output.
 *
 * again   how to continue; NULL: everything was tried
 * failed  the run ended by an error that is reported otherwise: nothing is said if no message was done with */
void replay_output_end(struct replay_output **output, const char *again, bool failed);

#endif
