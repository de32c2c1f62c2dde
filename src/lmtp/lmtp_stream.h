/* SPDX-License-Identifier: ISC
 *
 * Lines in, replies out, over a socket or two pipes; every wait is bounded. Replies are kept back while there is more
 * to read, so that pipelined commands (RFC 2920) are answered in one piece. */
#ifndef ONCEDROP_LMTP_STREAM_H
#define ONCEDROP_LMTP_STREAM_H

#include "base/base.h"

struct lmtp_stream;

struct lmtp_stream *lmtp_stream_new(int in, int out) OD_MUST;
void lmtp_stream_free(struct lmtp_stream **stream); /* does not close the descriptors */

enum lmtp_read {
    LMTP_READ_OK,
    LMTP_READ_TOO_LONG, /* the whole line was read and dropped; so for a line with NUL in it */
    LMTP_READ_END,      /* end of file, or an error */
    LMTP_READ_TIMEOUT,
};

/* Flushes the replies if it has to wait, then reads one line, ended by LF; CR LF or LF are taken off.
 * until_ms: by base_now_ms(). */
enum lmtp_read lmtp_stream_line(struct lmtp_stream *stream, char *line, size_t size, int64_t until_ms) OD_MUST;

/* Reads the message after DATA up to CR LF . CR LF (only that: RFC 5321, 4.1.1.4), takes the stuffed dots away and gives
 * it to feed, piece by piece, also after feed said false. idle_ms: how long each wait may take; until_ms: the end of all
 * waits, by base_now_ms(). */
enum lmtp_read lmtp_stream_data(struct lmtp_stream *stream, int64_t idle_ms, int64_t until_ms,
                                bool (*feed)(void *context, const void *bytes, size_t size), void *context) OD_MUST;

/* Adds a reply, "code text" and CR LF; control characters in it become blanks. A '-' after the code: more follow. */
void lmtp_stream_reply(struct lmtp_stream *stream, const char *format, ...) OD_PRINTF(2, 3);

/* Sends what was replied; false when the peer does not take it. */
bool lmtp_stream_flush(struct lmtp_stream *stream);

#endif
