/* SPDX-License-Identifier: ISC
 *
 * Our reply to Postfix: one line, written once, before all else. With pipe(8) and local(8), stdout and stderr are
 * one pipe, whose first text decides what happens to the mail. */
#ifndef ONCEDROP_OUTPUT_H
#define ONCEDROP_OUTPUT_H

#include "base/base.h"

/* Keeps stdout for the reply; points descriptors 1 and 2 to /dev/null against output of libraries. Returns a
 * descriptor for the log; -1: stderr is the same pipe or socket. Without this call replies go to descriptor 1. */
int output_open(void) OD_MUST;

/* Writes the reply, with its line end, unless one was written. */
void output_write_reply(const char *line, size_t length, int exit_status);

/* Defers with this line, unless a reply was written; ends the process with that reply's exit status.
 * Async-signal-safe. */
_Noreturn void output_exit(const char *line, size_t length);

/* Returns true if stdout is a pipe that the peer closed: Postfix stopped, and our input may be incomplete. */
bool output_peer_closed(void) OD_MUST;

/* The reply then. */
#define OUTPUT_CUT "the reader of our answer is gone: the message may be cut short"

/* Returns true if a standard descriptor is a terminal: never for a delivery agent. */
bool output_is_typed(void) OD_MUST;

/* Returns a descriptor on which poll(2) reports POLLERR when the peer closes; -1: stdout is no pipe. */
int output_pipe(void) OD_MUST;

#endif
