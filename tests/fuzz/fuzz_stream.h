/* SPDX-License-Identifier: ISC
 *
 * A session with an IMAP server that is part of the target: libetpan's stream gets our own lower end instead of a
 * connection. To be included once; the target says what is read, and takes what is written. */
#ifndef ONCEDROP_FUZZ_STREAM_H
#define ONCEDROP_FUZZ_STREAM_H

#include "fuzz.h"
#include <libetpan/mailstream.h>

#include "mailbox/mailbox_session.h"

static ssize_t low_write(mailstream_low *low, const void *bytes, size_t size);
static ssize_t low_read(mailstream_low *low, void *buffer, size_t size);
static void low_opened(void);

mailstream *__wrap_mailstream_socket_open_timeout(int fd, time_t timeout);
int __wrap_imap_connect(const struct config *config, const char *where, int64_t ms, bool *ret_local,
                        struct fault *fault);

static int low_nothing(mailstream_low *low)
{
    (void)low;
    return -1;
}

static void low_free(mailstream_low *low)
{
    free(low);
}

int __wrap_imap_connect(const struct config *config, const char *where, int64_t ms, bool *ret_local,
                        struct fault *fault)
{
    (void)config, (void)where, (void)ms, (void)fault;
    *ret_local = true;
    return 0;
}

mailstream *__wrap_mailstream_socket_open_timeout(int fd, time_t timeout)
{
    static mailstream_low_driver driver = {
        .mailstream_read = low_read,
        .mailstream_write = low_write,
        .mailstream_close = low_nothing,
        .mailstream_get_fd = low_nothing,
        .mailstream_free = low_free,
    };

    (void)fd, (void)timeout;
    low_opened();
    return mailstream_new(mailstream_low_new(NULL, &driver), 8192);
}

#endif
