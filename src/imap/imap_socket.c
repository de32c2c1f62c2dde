/* SPDX-License-Identifier: ISC */
#include "imap/imap_internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

/* Sets errno unless ready. */
static bool wait_for(int fd, short events, int64_t until_ms)
{
    struct pollfd waited = {.fd = fd, .events = events};
    int ready = base_poll(&waited, 1, until_ms);
    if (ready == 0)
        errno = EAGAIN;
    return ready > 0;
}

static bool is_over(ssize_t n)
{
    return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

ssize_t imap_socket_read(int fd, void *to, size_t size, int64_t ms)
{
    int64_t until_ms = base_now_ms() + ms;
    ssize_t n = -1;
    while (wait_for(fd, POLLIN, until_ms) && !is_over(n = recv(fd, to, size, MSG_DONTWAIT))) {
    }
    return n;
}

ssize_t imap_socket_write(int fd, const void *bytes, size_t size, int64_t ms)
{
    int64_t until_ms = base_now_ms() + ms;
    ssize_t n;
    do
        n = send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (!is_over(n) && wait_for(fd, POLLOUT, until_ms));
    return n;
}
