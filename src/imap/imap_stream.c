/* SPDX-License-Identifier: ISC */
#include "imap/imap.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOST_EARLIER "the connection was lost earlier"

/* NULL unless linked to the program. */
#pragma weak imap_tls_module

struct imap_stream {
    int fd;
    const struct imap_tls_module *tls; /* NULL: no TLS */
    void *tls_session;
    size_t in_from, in_to; /* received, not consumed */
    bool incomplete;       /* the last send: more would continue its literal */
    char in[8192];
    char out[8192];
};

const struct imap_tls_module *imap_stream_load_tls(struct error *error)
{
    static const struct imap_tls_module *loaded = &imap_tls_module;
    if (loaded == NULL)
        loaded = module_load(MODULE_TLS, error);
    return loaded;
}

void imap_stream_open(struct imap *imap, int fd)
{
    imap->stream = base_alloc(sizeof(*imap->stream));
    imap->stream->fd = fd;
}

bool imap_stream_secure(struct imap *imap, const struct config *config, struct error *error)
{
    struct imap_stream *stream = imap->stream;
    const struct imap_tls_module *tls = imap_stream_load_tls(error);
    if (tls == NULL || !tls->begin(stream->fd, config, imap->peer_name, imap->timeout, &stream->tls_session, error))
        return false;
    stream->tls = tls;
    return tls->verify(stream->tls_session, config, imap->peer_name, &imap->certificate, error);
}

bool imap_stream_connected(const struct imap *imap)
{
    if (imap->stream == NULL)
        return false;
    struct pollfd waited = {.fd = imap->stream->fd, .events = POLLRDHUP};
    return poll(&waited, 1, 0) == 0;
}

bool imap_stream_unread(const struct imap *imap)
{
    return imap->stream->in_from < imap->stream->in_to;
}

static ssize_t read_bytes(struct imap_stream *stream, int64_t ms)
{
    errno = 0;
    return stream->tls != NULL ? stream->tls->read(stream->tls_session, stream->in, sizeof(stream->in), ms)
                               : imap_socket_read(stream->fd, stream->in, sizeof(stream->in), ms);
}

bool imap_stream_arrived(struct imap *imap)
{
    struct imap_stream *stream = imap->stream;
    if (stream->in_from == stream->in_to) {
        ssize_t n = read_bytes(stream, 0);
        stream->in_from = 0;
        stream->in_to = n > 0 ? (size_t)n : 0;
    }
    return imap_stream_unread(imap);
}

void imap_stream_discard_unsent(struct imap *imap, bool on)
{
    struct linger linger = {.l_onoff = on, .l_linger = 0};
    (void)setsockopt(imap->stream->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

void imap_stream_drop(struct imap *imap)
{
    if (imap->stream == NULL)
        return;
    imap_debug_fact(&imap->debug, "connection closed");
    if (imap->stream->tls != NULL)
        imap->stream->tls->end(imap->stream->tls_session);
    else
        close(imap->stream->fd);
    base_free(&imap->stream);
}

bool imap_stream_fail(struct imap *imap, struct error *error, const char *why)
{
    if (imap->bye_text != NULL)
        error_set(error, "%s: %s: %s; it said: BYE %.200s", imap->peer_name, imap->step, why, imap->bye_text);
    else
        error_set(error, "%s: %s: %s", imap->peer_name, imap->step, why);
    imap_debug_fact(&imap->debug, "%s", error->text);
    imap_stream_drop(imap);
    return false;
}

/* Closes the connection after a failed read or write, and sets the error. errno is 0 if TLS does not set it. */
static bool explain_stream_failure(struct imap *imap, int64_t started, struct error *error)
{
    int errnum = errno;
    char why[96];
    bool timed_out = base_now_ms() - started >= imap->timeout ||
                     (imap->until_ms != 0 && base_now_ms() >= imap->until_ms);
    if (timed_out)
        snprintf(why, sizeof(why), "no answer within %lld s", (long long)(imap->timeout + 999) / 1000);
    else if (errnum != 0 && errnum != EAGAIN)
        snprintf(why, sizeof(why), "connection lost: %s", strerror(errnum));
    else
        snprintf(why, sizeof(why), "connection lost");
    imap->ended = !timed_out;
    return imap_stream_fail(imap, error, why);
}

/* At least 1: what has arrived is read even after until_ms. */
static int64_t time_remaining(const struct imap *imap)
{
    int64_t left = imap->until_ms != 0 ? imap->until_ms - base_now_ms() : imap->timeout;
    return left < 1 ? 1 : left < imap->timeout ? left : imap->timeout;
}

size_t imap_stream_wait(struct imap *imap, const char **ret, struct error *error)
{
    struct imap_stream *stream = imap->stream;
    if (stream == NULL)
        return imap_stream_fail(imap, error, LOST_EARLIER);
    int64_t started = base_now_ms();
    if (stream->in_from == stream->in_to) {
        ssize_t n = read_bytes(stream, time_remaining(imap));
        imap->ended = n == 0;
        if (n < 0)
            return explain_stream_failure(imap, started, error);
        if (n == 0)
            return imap_stream_fail(imap, error, "the server closed the connection");
        imap->until_ms = 0; /* it has begun */
        imap->heard_ms = base_now_ms();
        stream->in_from = 0;
        stream->in_to = (size_t)n;
    }
    imap->ended = false;
    *ret = stream->in + stream->in_from;
    return stream->in_to - stream->in_from;
}

void imap_stream_take(struct imap *imap, void *to, size_t n)
{
    memcpy(to, imap->stream->in + imap->stream->in_from, n);
    imap->stream->in_from += n;
}

/* Returns the bytes from `from` on that one write sends: part of a large piece, or small ones copied together. */
static size_t gather(struct imap_stream *stream, const struct iovec *pieces, size_t count, size_t from,
                     const char **ret)
{
    size_t size = 0;
    *ret = stream->out;
    for (size_t i = 0; i < count && size < sizeof(stream->out); i++) {
        if (from >= pieces[i].iov_len) {
            from -= pieces[i].iov_len;
            continue;
        }
        const char *bytes = (const char *)pieces[i].iov_base + from;
        size_t length = pieces[i].iov_len - from;
        from = 0;
        if (size == 0 && length >= sizeof(stream->out)) {
            *ret = bytes;
            return length;
        }
        length = length < sizeof(stream->out) - size ? length : sizeof(stream->out) - size;
        memcpy(stream->out + size, bytes, length);
        size += length;
    }
    return size;
}

bool imap_stream_send(struct imap *imap, const struct iovec *pieces, size_t count, size_t *sent, size_t end, int64_t ms)
{
    struct imap_stream *stream = imap->stream;
    while (*sent < end && !stream->incomplete) {
        const char *bytes;
        size_t size = gather(stream, pieces, count, *sent, &bytes);
        size = size < end - *sent ? size : end - *sent;
        ssize_t n = stream->tls != NULL ? stream->tls->write(stream->tls_session, bytes, size, ms)
                                        : imap_socket_write(stream->fd, bytes, size, ms);
        if (n <= 0 && ms == 0)
            return false;
        stream->incomplete = n <= 0;
        *sent += n > 0 ? (size_t)n : 0;
    }
    return !stream->incomplete;
}

bool imap_stream_line(struct imap *imap, const char *text, struct error *error)
{
    if (imap->stream == NULL)
        return imap_stream_fail(imap, error, LOST_EARLIER);
    imap_debug_sent(&imap->debug, imap->tag, text);
    static const char end[] = "\r\n";
    const struct iovec line[] = {{(char *)(uintptr_t)text, strlen(text)}, {(char *)(uintptr_t)end, 2}};
    size_t sent = 0;
    int64_t started = base_now_ms();
    errno = 0;
    return imap_stream_send(imap, line, 2, &sent, line[0].iov_len + 2, imap->timeout) ||
           explain_stream_failure(imap, started, error);
}
