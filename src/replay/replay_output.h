/* SPDX-License-Identifier: ISC
 *
 * The output of `replay` and `resume`: a line for each recipient, or a JSON object for each message, on stdout; on
 * stderr a progress bar, if it is a terminal, and the list of failures. */
#ifndef ONCEDROP_REPLAY_OUTPUT_H
#define ONCEDROP_REPLAY_OUTPUT_H

#include <glib.h>

#include "replay/replay_task.h"

/* Recipients by result. */
enum replay_count { REPLAY_STORED, REPLAY_DUPLICATE, REPLAY_DEFERRED, REPLAY_FAILED, REPLAY_COUNTS };

struct replay_output;

/* command: its name. json: print one object per message. total: number of messages; 0: unknown. */
struct replay_output *replay_output_new(const char *command, bool json, bool dry_run, size_t total) OD_MUST;

/* Reports a message that is finished. */
void replay_output_message(struct replay_output *output, const char *name, const struct replay_answer *answer);

/* Reports a message that could not be tried completely: deferred, for this reason. */
void replay_output_trouble(struct replay_output *output, const char *name, const char *reason);

/* To be called regularly: updates the progress bar. waiting: messages that other deliveries are making. */
void replay_output_progress(struct replay_output *output, size_t waiting);

size_t replay_output_count(const struct replay_output *output, enum replay_count count) OD_MUST;

/* Prints the summary. again: how to continue, or NULL if everything was tried. Frees the output. */
void replay_output_end(struct replay_output **output, const char *again);

/* The same after an error that is reported otherwise: nothing is said when no message was done with. */
void replay_output_cancel(struct replay_output **output);

#endif
