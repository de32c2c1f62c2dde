/* SPDX-License-Identifier: ISC
 *
 * The descriptor for our answer to Postfix: one line, written once, before anything else can write to the pipe that
 * Postfix reads. With pipe(8) and local(8), stdout and stderr are that same pipe, and the text at its start decides what
 * happens to the mail. */
#ifndef ONCEDROP_OUTPUT_H
#define ONCEDROP_OUTPUT_H

#include "base/base.h"

/* Keeps stdout for the answer and points descriptors 1 and 2 to /dev/null, so that no library can write to it. Returns
 * a descriptor that the log can use as stderr, or -1 if stderr is the same pipe or socket as stdout. Without this call
 * the answer goes to descriptor 1. */
int output_open(void) OD_MUST;

/* Writes this line (including its line end), which has this exit status, unless an answer was given already. */
void output_give(const char *line, size_t length, int exit_status);

/* For signal handlers: unless an answer was given already, writes this line (including its line end), which defers;
 * then ends the process with the exit status that belongs to the answer given. Async-signal-safe. */
_Noreturn void output_exit(const char *line, size_t length);

/* True if stdout is a pipe whose reader is gone: Postfix was stopped, so our input may be incomplete. */
bool output_reader_gone(void) OD_MUST;

/* The answer in that case. */
#define OUTPUT_CUT "the reader of our answer is gone: the message may be cut short"

/* Whether a person typed the command line: a standard descriptor is a terminal, which is never so for a delivery agent. */
bool output_is_typed(void) OD_MUST;

/* What poll(2) needs to notice that: the descriptor, or -1 if stdout is not a pipe. No events need to be requested:
 * POLLERR is always reported. */
int output_pipe(void) OD_MUST;

#endif
