/* SPDX-License-Identifier: ISC */
#include "lmtp/lmtp_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_SIZE (64 * 1024)
#define WRITE_MS 300000 /* RFC 5321, 4.5.3.2 */

/* Position within a line. */
enum data_state {
    DATA_LINE_START,
    DATA_DOT,    /* '.' at the line start */
    DATA_DOT_CR, /* then CR */
    DATA_TEXT,
    DATA_CR,
    DATA_END,
};

struct lmtp_stream {
    int in, out;
    int64_t end_ms; /* of all writes */
    size_t at, end; /* read, not consumed */
    GString *replies;
    unsigned char buffer[BUFFER_SIZE];
    unsigned char text[BUFFER_SIZE + 2]; /* unstuffed; may begin with a CR held back */
};

struct lmtp_stream *lmtp_stream_new(int in, int out, int64_t end_ms)
{
    struct lmtp_stream *stream = base_alloc(sizeof(*stream));
    stream->in = in;
    stream->out = out;
    stream->end_ms = end_ms;
    stream->replies = g_string_new(NULL);
    return stream;
}

void lmtp_stream_free(struct lmtp_stream **stream)
{
    if (*stream == NULL)
        return;
    g_string_free((*stream)->replies, TRUE);
    base_free(stream);
}

bool lmtp_stream_flush(struct lmtp_stream *stream)
{
    int64_t until = MIN(base_now_ms() + WRITE_MS, stream->end_ms);
    size_t sent = 0;
    while (sent < stream->replies->len) {
        if (base_poll(&(struct pollfd){.fd = stream->out, .events = POLLOUT}, 1, until) <= 0)
            break;
        ssize_t n = write(stream->out, stream->replies->str + sent, stream->replies->len - sent);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            break;
        sent += n > 0 ? (size_t)n : 0;
    }
    bool all = sent == stream->replies->len;
    g_string_truncate(stream->replies, 0);
    return all;
}

enum lmtp_wait lmtp_stream_wait(struct lmtp_stream *stream, int stop_fd, int others_fd, int64_t until_ms)
{
    struct pollfd waited[] = {
        {.fd = stream->in, .events = POLLIN},
        {.fd = stop_fd, .events = POLLIN},
        {.fd = others_fd, .events = POLLIN},
    };
    if (stream->at < stream->end || !lmtp_stream_flush(stream))
        return LMTP_WAIT_INPUT; /* reading reports errors */
    int n = base_poll(waited, 3, until_ms);
    return n == 0 ? LMTP_WAIT_TIMEOUT : n < 0 || waited[0].revents != 0 ? LMTP_WAIT_INPUT : LMTP_WAIT_EVENT;
}

static enum lmtp_read fill_buffer(struct lmtp_stream *stream, int64_t until_ms)
{
    if (stream->at == stream->end && !lmtp_stream_flush(stream))
        return LMTP_READ_END;
    while (stream->at == stream->end) {
        if (lmtp_stream_wait(stream, -1, -1, until_ms) == LMTP_WAIT_TIMEOUT)
            return LMTP_READ_TIMEOUT;
        ssize_t n = read(stream->in, stream->buffer, sizeof(stream->buffer));
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return LMTP_READ_END;
        stream->at = 0;
        stream->end = n > 0 ? (size_t)n : 0;
    }
    return LMTP_READ_OK;
}

bool lmtp_stream_continues(const struct lmtp_stream *stream, const char *word)
{
    size_t length = strlen(word);
    return stream->end - stream->at >= length &&
           g_ascii_strncasecmp((const char *)stream->buffer + stream->at, word, length) == 0;
}

enum lmtp_read lmtp_stream_line(struct lmtp_stream *stream, char *line, size_t size, int64_t until_ms)
{
    size_t length = 0;
    bool fits = true;
    for (;;) {
        enum lmtp_read result = fill_buffer(stream, until_ms);
        if (result != LMTP_READ_OK)
            return result;
        unsigned char c = stream->buffer[stream->at++];
        if (c == '\n')
            break;
        if (c == '\0' || length + 1 >= size)
            fits = false;
        else
            line[length++] = (char)c;
    }
    if (length > 0 && line[length - 1] == '\r')
        length--;
    line[length] = '\0';
    return fits ? LMTP_READ_OK : LMTP_READ_TOO_LONG;
}

/* Writes what is certain to out, and returns its size. Holds back a CR that may be part of the end mark. */
static size_t take_character(enum data_state *state, unsigned char c, unsigned char *out)
{
    size_t n = 0;
    switch (*state) {
    case DATA_LINE_START:
        if (c == '.') {
            *state = DATA_DOT;
            return 0;
        }
        break;
    case DATA_DOT: /* stuffed, unless CR LF follows */
        if (c == '\r') {
            *state = DATA_DOT_CR;
            return 0;
        }
        break;
    case DATA_DOT_CR:
        if (c == '\n') {
            *state = DATA_END;
            return 0;
        }
        out[n++] = '\r';
        break;
    case DATA_CR:
        out[n++] = '\r';
        if (c == '\n') {
            out[n++] = c;
            *state = DATA_LINE_START;
            return n;
        }
        break;
    case DATA_TEXT:
    case DATA_END:
        break;
    }
    *state = c == '\r' ? DATA_CR : DATA_TEXT;
    if (c != '\r')
        out[n++] = c;
    return n;
}

static size_t unstuff(struct lmtp_stream *stream, enum data_state *state)
{
    size_t length = 0;
    while (stream->at < stream->end && *state != DATA_END) {
        const unsigned char *from = stream->buffer + stream->at;
        size_t left = stream->end - stream->at;
        if (*state == DATA_TEXT) {
            const unsigned char *cr = memchr(from, '\r', left);
            size_t n = cr != NULL ? (size_t)(cr - from) : left;
            memcpy(stream->text + length, from, n);
            length += n;
            stream->at += n;
            if (n == left)
                break;
        }
        length += take_character(state, stream->buffer[stream->at++], stream->text + length);
    }
    return length;
}

enum lmtp_read lmtp_stream_data(struct lmtp_stream *stream, int64_t idle_ms, int64_t until_ms, lmtp_feed *feed,
                                void *context)
{
    enum data_state state = DATA_LINE_START;
    while (state != DATA_END) {
        int64_t idle_end = base_now_ms() + idle_ms;
        if (base_now_ms() >= until_ms)
            return LMTP_READ_TIMEOUT;
        enum lmtp_read result = fill_buffer(stream, MIN(idle_end, until_ms));
        if (result != LMTP_READ_OK)
            return result;
        size_t length = unstuff(stream, &state);
        if (length > 0)
            feed(context, stream->text, length);
    }
    return LMTP_READ_OK;
}

enum lmtp_read lmtp_stream_bytes(struct lmtp_stream *stream, size_t size, int64_t until_ms, lmtp_feed *feed,
                                 void *context)
{
    while (size > 0) {
        enum lmtp_read result = fill_buffer(stream, until_ms);
        if (result != LMTP_READ_OK)
            return result;
        size_t n = MIN(stream->end - stream->at, size);
        feed(context, stream->buffer + stream->at, n);
        stream->at += n;
        size -= n;
    }
    return LMTP_READ_OK;
}

void lmtp_stream_reply(struct lmtp_stream *stream, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gsize before = stream->replies->len;
    g_string_append_vprintf(stream->replies, format, arguments);
    va_end(arguments);
    for (char *c = stream->replies->str + before; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    g_string_append(stream->replies, "\r\n");
}
