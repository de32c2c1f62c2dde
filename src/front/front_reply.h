/* SPDX-License-Identifier: ISC
 *
 * The service's replies: lines "CODE text", read with a timeout. */
#ifndef ONCEDROP_FRONT_REPLY_H
#define ONCEDROP_FRONT_REPLY_H

#include "base/base.h"

/* Fits into the line that Postfix reads. */
#define FRONT_REPLY_MAX 1100

struct front_replies {
    int fd; /* non-blocking */
    size_t used, end;
    char buffer[FRONT_REPLY_MAX];
};

enum front_line {
    FRONT_LINE_OK,
    FRONT_LINE_NONE, /* timeout */
    FRONT_LINE_END,  /* closed, or not a line */
    FRONT_LINE_GONE, /* our output's peer closed */
};

/* Reads a line, without line end, valid until the next call.
 *
 * until_ms  by base_now_ms()
 * output    of output_pipe(): its closed peer ends the wait; -1: none */
enum front_line front_reply_read(struct front_replies *replies, int64_t until_ms, int output, char **ret) OD_MUST;

/* Parses "354 MILLISECONDS": the delivery is accepted, and may take that long after the final mark. */
bool front_reply_accepts(const char *line, int64_t *ret_ms) OD_MUST;

/* Parses "250 STATUS D.S.N text"; *ret: "D.S.N text", for Postfix. Returns false if STATUS and code disagree, or
 * Postfix would misunderstand. */
bool front_reply_codes(const char *line, int *ret_status, const char **ret) OD_MUST;

#endif
