/* SPDX-License-Identifier: ISC
 *
 * A session with an IMAP server that is part of the target, in place of a socket. To be included once; the target says what
 * is read, and takes what is written. */
#ifndef ONCEDROP_FUZZ_STREAM_H
#define ONCEDROP_FUZZ_STREAM_H

#include <fcntl.h>

#include "fuzz.h"
#include "mailbox/mailbox_internal.h"

static ssize_t low_write(const void *bytes, size_t size);
static ssize_t low_read(void *buffer, size_t size);
static void low_opened(void);
static bool low_late; /* what is not waited for has not arrived yet */

int __wrap_imap_connect(const struct config *config, const char *where, int64_t ms, bool *ret_local,
                        struct error *error);
ssize_t __wrap_imap_socket_read(int fd, void *to, size_t size, int64_t ms);
ssize_t __wrap_imap_socket_write(int fd, const void *bytes, size_t size, int64_t ms);

/* A descriptor to close, on which nothing ever arrives. */
int __wrap_imap_connect(const struct config *config, const char *where, int64_t ms, bool *ret_local,
                        struct error *error)
{
    (void)config, (void)where, (void)ms, (void)error;
    *ret_local = true;
    low_opened();
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

ssize_t __wrap_imap_socket_read(int fd, void *to, size_t size, int64_t ms)
{
    (void)fd;
    return ms == 0 && low_late ? -1 : low_read(to, size);
}

ssize_t __wrap_imap_socket_write(int fd, const void *bytes, size_t size, int64_t ms)
{
    (void)fd, (void)ms;
    return low_write(bytes, size);
}

#endif
