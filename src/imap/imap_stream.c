/* SPDX-License-Identifier: ISC
 *
 * Reads and writes, each within its time; closes connections that cannot go on. */
#include "imap/imap_stream.h"

#include <errno.h>
#include <libetpan/mailstream_socket.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

/* libetpan's timeouts per stream are whole seconds; 0 there means this variable. */
static void set_patience(int64_t ms)
{
    mailstream_network_delay.tv_sec = ms / 1000;
    mailstream_network_delay.tv_usec = ms % 1000 * 1000;
}

bool imap_stream_open(struct imap *imap, int fd, struct fault *fault)
{
    set_patience(imap->timeout);
    if (fd < FD_SETSIZE - 8) /* libetpan waits with select(2), also on descriptors of its own */
        imap->stream = mailstream_socket_open_timeout(fd, 0);
    if (imap->stream != NULL)
        return true;
    fault_set(fault, "%s: out of memory, or too many descriptors are open", imap->where);
    close(fd);
    return false;
}

static int socket_of(const struct imap *imap)
{
    return mailstream_low_get_fd(mailstream_get_low(imap->stream));
}

bool imap_stream_connected(const struct imap *imap)
{
    if (imap->stream == NULL)
        return false;
    struct pollfd waited = {.fd = socket_of(imap), .events = POLLRDHUP};
    return poll(&waited, 1, 0) == 0;
}

void imap_stream_discard_unsent(struct imap *imap, bool on)
{
    struct linger linger = {.l_onoff = on, .l_linger = 0};
    (void)setsockopt(socket_of(imap), SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

void imap_stream_drop(struct imap *imap)
{
    if (imap->stream != NULL)
        mailstream_close(imap->stream);
    imap->stream = NULL;
}

bool imap_stream_give_up(struct imap *imap, struct fault *fault, const char *why)
{
    if (imap->farewell != NULL)
        fault_set(fault, "%s: %s: %s; it said: BYE %.200s", imap->where, imap->step, why, imap->farewell);
    else
        fault_set(fault, "%s: %s: %s", imap->where, imap->step, why);
    imap_stream_drop(imap);
    return false;
}

/* After a failed read or write, which began at `started`: finds the reason, and gives up. libetpan does not report it, but
 * leaves errno alone after a timeout; it was 0 before. */
static bool explain_stream_failure(struct imap *imap, int64_t started, struct fault *fault)
{
    int error = errno;
    char why[96];
    bool late = base_now_ms() - started >= imap->timeout || (imap->until_ms != 0 && base_now_ms() >= imap->until_ms);
    if (late)
        snprintf(why, sizeof(why), "no answer within %lld s", (long long)(imap->timeout + 999) / 1000);
    else if (error != 0 && error != EAGAIN)
        snprintf(why, sizeof(why), "connection lost: %s", strerror(error));
    else
        snprintf(why, sizeof(why), "connection lost");
    imap->ended = !late;
    return imap_stream_give_up(imap, fault, why);
}

/* Milliseconds that the next read may take. What has arrived is read even if the time is over. */
static int64_t time_left(const struct imap *imap)
{
    int64_t left = imap->until_ms != 0 ? imap->until_ms - base_now_ms() : imap->timeout;
    return left < 1 ? 1 : left < imap->timeout ? left : imap->timeout;
}

size_t imap_stream_wait(struct imap *imap, const char **ret, struct fault *fault)
{
    if (imap->stream == NULL)
        return imap_stream_give_up(imap, fault, "the connection was lost earlier");
    mailstream *stream = imap->stream;
    int64_t started = base_now_ms();
    ssize_t n = (ssize_t)stream->read_buffer_len;
    if (n == 0) {
        set_patience(time_left(imap));
        errno = 0;
        n = mailstream_feed_read_buffer(stream);
        set_patience(imap->timeout);
        if (n > 0)
            imap->until_ms = 0; /* it speaks */
    }
    *ret = stream->read_buffer;
    imap->ended = n == 0;
    if (n < 0)
        return explain_stream_failure(imap, started, fault);
    return n > 0 ? stream->read_buffer_len : imap_stream_give_up(imap, fault, "the server closed the connection");
}

void imap_stream_take(struct imap *imap, void *to, size_t n)
{
    mailstream_read(imap->stream, to, n);
}

static bool write_bytes(struct imap *imap, const void *bytes, size_t size)
{
    set_patience(imap->timeout);
    return mailstream_write(imap->stream, bytes, size) == (ssize_t)size;
}

bool imap_stream_write(struct imap *imap, const struct iovec *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!write_bytes(imap, pieces[i].iov_base, pieces[i].iov_len))
            return false;
    }
    return write_bytes(imap, "\r\n", 2) && mailstream_flush(imap->stream) == 0;
}

bool imap_stream_line(struct imap *imap, const char *text, struct fault *fault)
{
    if (imap->stream == NULL)
        return imap_stream_give_up(imap, fault, "the connection was lost earlier");
    int64_t started = base_now_ms();
    errno = 0;
    bool sent = write_bytes(imap, text, strlen(text)) && imap_stream_write(imap, NULL, 0);
    return sent || explain_stream_failure(imap, started, fault);
}
