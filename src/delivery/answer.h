/* SPDX-License-Identifier: ISC
 *
 * Our answer to Postfix: one line, written once, before anything else can write to the pipe it reads. stdout and
 * stderr are that same pipe under pipe(8) and local(8), and what stands at its start decides over the mail. */
#ifndef ONCEDROP_ANSWER_H
#define ONCEDROP_ANSWER_H

#include "delivery/outcome.h"

/* Keeps stdout for the answer and points descriptors 1 and 2 to /dev/null, so that no library's chatter gets there.
 * Returns a descriptor for the log that stands for stderr, or -1 when stderr is the pipe or socket that stdout is. */
int answer_open(void) OD_MUST;

/* Writes the line "report" and a line end, unless an answer was given already. */
void answer_give(const struct report *report);

/* For signal handlers: if no answer was given yet, gives this line (with its line end), which defers; then ends the
 * process with the status that goes with the answer given. Async-signal-safe. */
_Noreturn void answer_exit(const char *line, size_t length);

/* True when stdout is a pipe whose reader is gone: then Postfix was stopped, and what we read may be cut short. */
bool answer_reader_gone(void) OD_MUST;

#endif
