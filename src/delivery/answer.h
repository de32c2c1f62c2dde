/* SPDX-License-Identifier: ISC
 *
 * Our answer to Postfix: one line, written once, before anything else can write to the pipe that Postfix reads. With
 * pipe(8) and local(8), stdout and stderr are that same pipe, and the text at its start decides what happens to the
 * mail. */
#ifndef ONCEDROP_ANSWER_H
#define ONCEDROP_ANSWER_H

#include "delivery/outcome.h"

/* Keeps stdout for the answer and points descriptors 1 and 2 to /dev/null, so that no library can write to it. Returns
 * a descriptor that the log can use as stderr, or -1 if stderr is the same pipe or socket as stdout. */
int answer_open(void) OD_MUST;

/* Writes the report as one line, unless an answer was given already. */
void answer_give(const struct report *report);

/* For signal handlers: unless an answer was given already, writes this line (including its line end), which defers;
 * then ends the process with the exit status that belongs to the answer given. Async-signal-safe. */
_Noreturn void answer_exit(const char *line, size_t length);

/* True if stdout is a pipe whose reader is gone: Postfix was stopped, so our input may be incomplete. */
bool answer_reader_gone(void) OD_MUST;

#endif
