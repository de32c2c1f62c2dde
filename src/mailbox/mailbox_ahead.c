/* SPDX-License-Identifier: ISC
 *
 * Going on without waiting: what a server has answered is read only once all of it is there. So a server that answers
 * slowly, in part, or not at all holds up only those who have nothing else to do. */
#include "mailbox/mailbox_session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_MOST 32768 /* a longer one is left to those who may wait */

/* Whether there is a whole line that begins with these words. */
static bool has_line(const char *bytes, size_t size, const char *words)
{
    size_t length = strlen(words);
    const char *line = bytes, *end;
    while ((end = memchr(line, '\n', size - (size_t)(line - bytes))) != NULL) {
        if ((size_t)(end - line) >= length && strncasecmp(line, words, length) == 0)
            return true;
        line = end + 1;
    }
    return false;
}

/* The bytes are not taken from the socket. The stream has none left over: it reads no further than it must, and a server
 * does not speak before it is asked. If it does, nothing is seen here, and nothing is lost. */
enum mailbox_ahead mailbox_ahead_arrived(const struct mailbox *mailbox, enum awaited awaited)
{
    char bytes[ANSWER_MOST], tagged[sizeof mailbox->tag + 1], agreed[sizeof mailbox->tag + 3];
    if (mailbox->stream == NULL)
        return AHEAD_OVER;
    if (mailbox->secured || mailbox->stream->read_buffer_len > 0)
        return AHEAD_STUCK;
    ssize_t size = recv(mailbox_descriptor(mailbox), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return AHEAD_WAITS;
    if (size <= 0) /* the connection has ended, and reading will tell so at once */
        return AHEAD_OVER;
    snprintf(tagged, sizeof tagged, "%s ", mailbox->tag);
    snprintf(agreed, sizeof agreed, "%s OK", mailbox->tag);
    const char *const words[] = {
        [AWAITED_GREETING] = "",
        [AWAITED_ANSWER] = tagged,
        [AWAITED_READY] = "+",
        [AWAITED_OK] = agreed,
    };
    if (has_line(bytes, (size_t)size, words[awaited]))
        return AHEAD_OVER;
    if (has_line(bytes, (size_t)size, tagged))
        return AHEAD_STUCK;
    return (size_t)size < sizeof bytes ? AHEAD_PART : AHEAD_STUCK;
}

enum mailbox_ahead mailbox_ahead(struct mailbox *mailbox)
{
    return mailbox->searching != NULL ? mailbox_search_ahead(mailbox) : mailbox_open_ahead(mailbox);
}

int mailbox_descriptor(const struct mailbox *mailbox)
{
    return mailbox->stream != NULL ? mailstream_low_get_fd(mailstream_get_low(mailbox->stream)) : -1;
}

bool mailbox_wait_either(const struct mailbox *mailbox, int descriptor, int64_t until_ms)
{
    struct pollfd waited[] = {
        {.fd = mailbox_descriptor(mailbox), .events = POLLIN},
        {.fd = descriptor, .events = POLLIN},
    };
    int64_t left = until_ms - base_now_ms();
    if (mailbox->stream == NULL || mailbox->secured || mailbox->stream->read_buffer_len > 0)
        return false;
    (void)poll(waited, 2, left < 0 ? 0 : (int)(left < INT32_MAX ? left : INT32_MAX));
    return waited[0].revents == 0;
}
