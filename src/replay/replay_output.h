/* SPDX-License-Identifier: ISC
 *
 * What `replay` and `resume` say: a line for each recipient, or a JSON object for each message, on stdout; a progress
 * bar, when there is a terminal, and the list of what did not work on stderr. */
#ifndef ONCEDROP_REPLAY_OUTPUT_H
#define ONCEDROP_REPLAY_OUTPUT_H

#include <glib.h>

#include "replay/replay_task.h"

/* Recipients by what became of them. */
enum replay_count { REPLAY_STORED, REPLAY_DUPLICATE, REPLAY_DEFERRED, REPLAY_FAILED, REPLAY_COUNTS };

struct replay_output;

/* command: its name. json: an object a message. total: messages there are; 0: not known. */
struct replay_output *replay_output_new(const char *command, bool json, bool dry_run, size_t total) OD_MUST;

/* One message is done with. */
void replay_output_message(struct replay_output *output, const char *name, const struct replay_answer *answer);

/* One message could not be tried to its end: deferred, for this reason. */
void replay_output_trouble(struct replay_output *output, const char *name, const char *reason);

/* What is to be seen while nothing else is: called now and then. waiting: messages that other deliveries are at. */
void replay_output_progress(struct replay_output *output, size_t waiting);

size_t replay_output_count(const struct replay_output *output, enum replay_count count) OD_MUST;

/* The closing lines; again: how to go on, or NULL when all was tried. Frees the output. */
void replay_output_end(struct replay_output **output, const char *again);

/* The same after an error that is reported otherwise: nothing is said when no message was done with. */
void replay_output_cancel(struct replay_output **output);

#endif
