/* SPDX-License-Identifier: ISC
 *
 * Reads lines and writes replies, over a socket or two pipes, with a limit on every wait. Replies are buffered while
 * there is more input, so that pipelined commands (RFC 2920) are answered together. */
#ifndef ONCEDROP_LMTP_STREAM_H
#define ONCEDROP_LMTP_STREAM_H

#include "base/base.h"

struct lmtp_stream;

/* From end_ms on, by base_now_ms(), replies are sent only as far as that is possible without waiting. */
struct lmtp_stream *lmtp_stream_new(int in, int out, int64_t end_ms) OD_MUST;
void lmtp_stream_free(struct lmtp_stream **stream); /* does not close the descriptors */

enum lmtp_read {
    LMTP_READ_OK,
    LMTP_READ_TOO_LONG, /* the whole line was read and dropped; also for a line with a NUL */
    LMTP_READ_END,      /* end of file, or an error */
    LMTP_READ_TIMEOUT,
};

enum lmtp_wait {
    LMTP_WAIT_INPUT, /* there is something to read, or its end */
    LMTP_WAIT_EVENT, /* one of the other descriptors is readable */
    LMTP_WAIT_TIMEOUT,
};

/* Waits for input, or until one of the other two descriptors is readable (-1: not looked at); input comes first. Flushes
 * the replies if it has to wait. until_ms: by base_now_ms(). */
enum lmtp_wait lmtp_stream_wait(struct lmtp_stream *stream, int stop_fd, int others_fd, int64_t until_ms) OD_MUST;

/* Flushes the replies if it has to wait, then reads one line, which ends with LF; removes CR LF or LF. until_ms: by
 * base_now_ms(). */
enum lmtp_read lmtp_stream_line(struct lmtp_stream *stream, char *line, size_t size, int64_t until_ms) OD_MUST;

/* Whether the next line has already arrived and begins with this word, in upper or lower case. */
bool lmtp_stream_continues(const struct lmtp_stream *stream, const char *word) OD_MUST;

typedef void lmtp_feed(void *context, const void *bytes, size_t size);

/* Reads the message after DATA up to CR LF . CR LF (and nothing else: RFC 5321, 4.1.1.4), removes stuffed dots and
 * passes it to feed in pieces. idle_ms: limit of each wait; until_ms: end of all waits, by base_now_ms(). */
enum lmtp_read lmtp_stream_data(struct lmtp_stream *stream, int64_t idle_ms, int64_t until_ms, lmtp_feed *feed,
                                void *context) OD_MUST;

/* Reads this many bytes, as they are, and passes them to feed as above. until_ms: by base_now_ms(). */
enum lmtp_read lmtp_stream_bytes(struct lmtp_stream *stream, size_t size, int64_t until_ms, lmtp_feed *feed,
                                 void *context) OD_MUST;

/* Adds a reply, "code text" and CR LF; control characters become blanks. A '-' after the code means that more lines
 * follow. */
void lmtp_stream_reply(struct lmtp_stream *stream, const char *format, ...) OD_PRINTF(2, 3);

/* Sends the buffered replies; false if the peer does not take them. */
bool lmtp_stream_flush(struct lmtp_stream *stream);

#endif
