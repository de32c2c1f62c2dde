/* SPDX-License-Identifier: ISC
 *
 * What the service says: lines "CODE text", read with a limit on the wait. */
#ifndef ONCEDROP_FRONT_REPLY_H
#define ONCEDROP_FRONT_REPLY_H

#include "base/base.h"

/* The text of the answer about a delivery; it stays within the line that Postfix reads. */
#define FRONT_REPLY_MAX 1100

struct front_replies {
    int fd; /* non-blocking */
    size_t used, end;
    char buffer[FRONT_REPLY_MAX];
};

enum front_line {
    FRONT_LINE_OK,
    FRONT_LINE_NONE, /* not within the time */
    FRONT_LINE_END,  /* the connection has ended, or what was sent is no line */
    FRONT_LINE_GONE, /* the reader of our output is gone */
};

/* Reads one line without its line end; *ret points into the buffer until the next call.
 *
 * until_ms  by base_now_ms()
 * output    see output_pipe(): the wait ends if its reader goes; -1: not watched */
enum front_line front_reply_read(struct front_replies *replies, int64_t until_ms, int output, char **ret) OD_MUST;

/* "354 MILLISECONDS": the service takes the delivery, and may take so long from the final mark on. */
bool front_reply_accepts(const char *line, int64_t *ret_ms) OD_MUST;

/* "250 STATUS D.S.N text": *ret points to "D.S.N text", what Postfix is to get with this exit status. False if the two
 * do not fit together, or Postfix would understand something else by them. */
bool front_reply_answers(const char *line, int *ret_status, const char **ret) OD_MUST;

#endif
