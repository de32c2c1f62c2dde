/* SPDX-License-Identifier: ISC
 *
 * Something else is done from time to time while we wait for a server: libetpan waits, so it waits in slices. */
#include "mailbox/mailbox_session.h"

#include <errno.h>

#define SLICE_MS INT64_C(1000)

static void (*meanwhile)(void *context);
static void *meanwhile_context;

void mailbox_meanwhile(void (*call)(void *context), void *context)
{
    meanwhile = call;
    meanwhile_context = context;
}

void mailbox_wait_pause(void)
{
    if (meanwhile != NULL)
        meanwhile(meanwhile_context);
}

/* libetpan leaves errno alone after a timeout. */
ssize_t mailbox_wait_input(struct mailbox *mailbox, int64_t patience)
{
    int64_t end = base_now_ms() + patience;
    for (;;) {
        int64_t begin = base_now_ms(), left = end - begin < 1 ? 1 : end - begin;
        int64_t slice = meanwhile != NULL && left > SLICE_MS ? SLICE_MS : left;
        mailbox_setup_patience(slice);
        errno = 0;
        ssize_t n = mailstream_feed_read_buffer(mailbox->stream);
        bool late = n < 0 && (errno == 0 || errno == EAGAIN) && base_now_ms() - begin >= slice;
        if (!late || slice == left) {
            mailbox_setup_patience(mailbox->timeout);
            return n;
        }
        mailbox_wait_pause();
    }
}
