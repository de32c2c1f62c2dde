/* SPDX-License-Identifier: ISC
 *
 * Reads lines and writes replies, over a socket or two pipes. Buffers replies until it has to wait, for pipelining (RFC
 * 2920). Times are by base_now_ms(). */
#ifndef ONCEDROP_LMTP_STREAM_H
#define ONCEDROP_LMTP_STREAM_H

#include "base/base.h"

struct lmtp_stream;

/* After end_ms, writing does not wait. */
struct lmtp_stream *lmtp_stream_new(int in, int out, int64_t end_ms) OD_MUST;
void lmtp_stream_free(struct lmtp_stream **stream); /* leaves the descriptors open */

enum lmtp_read {
    LMTP_READ_OK,
    LMTP_READ_TOO_LONG, /* line skipped; also one with NUL */
    LMTP_READ_END,      /* or an error */
    LMTP_READ_TIMEOUT,
};

enum lmtp_wait {
    LMTP_WAIT_INPUT, /* or its end */
    LMTP_WAIT_EVENT, /* another descriptor is readable */
    LMTP_WAIT_TIMEOUT,
};

/* Waits for input, which comes first, or until another descriptor (-1: none) is readable. */
enum lmtp_wait lmtp_stream_wait(struct lmtp_stream *stream, int stop_fd, int others_fd, int64_t until_ms) OD_MUST;

/* Reads a line, without LF or CR LF. */
enum lmtp_read lmtp_stream_line(struct lmtp_stream *stream, char *line, size_t size, int64_t until_ms) OD_MUST;

/* Returns whether buffered input begins with this word, in any case. */
bool lmtp_stream_continues(const struct lmtp_stream *stream, const char *word) OD_MUST;

typedef void lmtp_feed(void *context, const void *bytes, size_t size);

/* Reads the message after DATA up to CR LF . CR LF and nothing else (RFC 5321, 4.1.1.4). Passes it to feed in pieces,
 * unstuffed. idle_ms: per wait. */
enum lmtp_read lmtp_stream_data(struct lmtp_stream *stream, int64_t idle_ms, int64_t until_ms, lmtp_feed *feed,
                                void *context) OD_MUST;

/* Passes exactly `size` bytes to feed. */
enum lmtp_read lmtp_stream_bytes(struct lmtp_stream *stream, size_t size, int64_t until_ms, lmtp_feed *feed,
                                 void *context) OD_MUST;

/* Adds a reply and CR LF; control characters become blanks. */
void lmtp_stream_reply(struct lmtp_stream *stream, const char *format, ...) OD_PRINTF(2, 3);

/* Sends buffered replies; false if the peer takes none. */
bool lmtp_stream_flush(struct lmtp_stream *stream);

#endif
