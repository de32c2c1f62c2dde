/* SPDX-License-Identifier: ISC */
#include "front/front_internal.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define LONGEST_MS 86400000 /* more than a day is a mistake */

static enum front_line await_bytes(const struct front_replies *replies, int64_t until_ms, int output)
{
    struct pollfd waited[] = {{.fd = replies->fd, .events = POLLIN}, {.fd = output}};
    for (;;) {
        int ready = base_poll(waited, 2, until_ms);
        if (ready <= 0)
            return ready == 0 ? FRONT_LINE_NONE : FRONT_LINE_END;
        if (waited[0].revents != 0) /* a reply counts, even if the peer closed */
            return FRONT_LINE_OK;
        if ((waited[1].revents & POLLERR) != 0)
            return FRONT_LINE_GONE;
        waited[1].fd = -1;
    }
}

/* Cuts off a line; NULL: none is complete. */
static char *cut_line(struct front_replies *replies)
{
    char *line = replies->buffer + replies->used;
    char *end = memchr(line, '\n', replies->end - replies->used);
    if (end == NULL)
        return NULL;
    replies->used = (size_t)(end + 1 - replies->buffer);
    *end = '\0';
    if (end > line && end[-1] == '\r')
        end[-1] = '\0';
    return line;
}

enum front_line front_reply_read(struct front_replies *replies, int64_t until_ms, int output, char **ret)
{
    for (;;) {
        if ((*ret = cut_line(replies)) != NULL)
            return FRONT_LINE_OK;
        memmove(replies->buffer, replies->buffer + replies->used, replies->end - replies->used);
        replies->end -= replies->used;
        replies->used = 0;
        if (replies->end == sizeof(replies->buffer))
            return FRONT_LINE_END;
        enum front_line waited = await_bytes(replies, until_ms, output);
        if (waited != FRONT_LINE_OK)
            return waited;
        ssize_t n = read(replies->fd, replies->buffer + replies->end, sizeof(replies->buffer) - replies->end);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return FRONT_LINE_END;
        replies->end += n > 0 ? (size_t)n : 0;
    }
}

bool front_reply_accepts(const char *line, int64_t *ret_ms)
{
    if (strncmp(line, "354 ", 4) != 0)
        return false;
    char *end;
    errno = 0;
    long long ms = strtoll(line + 4, &end, 10);
    if (!isdigit((unsigned char)line[4]) || *end != '\0' || errno != 0 || ms > LONGEST_MS)
        return false;
    *ret_ms = ms;
    return true;
}

/* Returns the codes' class; 0: not our status. */
static char status_class(int status)
{
    bool bounces = status == EX_DATAERR || status == EX_NOUSER || status == EX_UNAVAILABLE;
    return status == EX_OK ? '2' : status == EX_TEMPFAIL ? '4' : bounces ? '5' : 0;
}

/* RFC 3463, 2: class "." 1*3digit "." 1*3digit; a blank follows. */
static bool begins_with_code(const char *text)
{
    size_t subject = strspn(text + 2, "0123456789");
    if (text[1] != '.' || subject < 1 || subject > 3 || text[2 + subject] != '.')
        return false;
    const char *at = text + 2 + subject + 1;
    size_t detail = strspn(at, "0123456789");
    return detail >= 1 && detail <= 3 && at[detail] == ' ';
}

bool front_reply_codes(const char *line, int *ret_status, const char **ret)
{
    size_t digits = strncmp(line, "250 ", 4) == 0 ? strspn(line + 4, "0123456789") : 0;
    if (digits < 1 || digits > 3 || line[4 + digits] != ' ')
        return false;
    int status = atoi(line + 4);
    const char *text = line + 4 + digits + 1;
    if (*text == '\0' || *text != status_class(status) || !begins_with_code(text))
        return false;
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    *ret_status = status;
    *ret = text;
    return true;
}
