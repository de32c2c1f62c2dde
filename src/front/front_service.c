/* SPDX-License-Identifier: ISC */
#include "front/front_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_PAUSE_MS 40 /* before a retry; increases */
#define LAST_PAUSE_MS 300

static const char final_mark[] = "BDAT 0 LAST\r\n";

/* These steps return FRONT_SERVICE_OK to continue. */

/* EAGAIN: the backlog is full. */
static enum front_service connect_to(int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return FRONT_SERVICE_NOT_TAKEN;
    strcpy(address.sun_path, path);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return FRONT_SERVICE_OK;
    return errno == EAGAIN ? FRONT_SERVICE_BUSY : FRONT_SERVICE_NOT_TAKEN;
}

static enum front_service await_greeting(struct front_replies *replies, int64_t until_ms)
{
    char *line;
    switch (front_reply_read(replies, until_ms, output_pipe(), &line)) {
    case FRONT_LINE_OK:
        return strncmp(line, "220 ", 4) == 0          ? FRONT_SERVICE_OK
               : strncmp(line, "421 4.3.2 ", 10) == 0 ? FRONT_SERVICE_BUSY
                                                      : FRONT_SERVICE_NOT_TAKEN;
    case FRONT_LINE_NONE:
        return FRONT_SERVICE_BUSY;
    case FRONT_LINE_GONE:
        return FRONT_SERVICE_GONE;
    case FRONT_LINE_END:
        break;
    }
    return FRONT_SERVICE_NOT_TAKEN;
}

/* Waits for room. False: timeout, or the service closed or sent something, which is a refusal. */
static bool wait_for_room(int fd, int64_t until_ms)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    return base_now_ms() < until_ms && base_poll(&room, 1, until_ms) > 0 && (room.revents & POLLOUT) != 0;
}

/* Returns true if sending may go on after this result. */
static bool goes_on(int fd, ssize_t sent, int64_t until_ms)
{
    if (sent > 0 || (sent < 0 && errno == EINTR))
        return true;
    return sent < 0 && errno == EAGAIN && wait_for_room(fd, until_ms);
}

static bool send_pieces(int fd, struct iovec *pieces, size_t count, int64_t until_ms)
{
    while (count > 0) {
        struct msghdr data = {.msg_iov = pieces, .msg_iovlen = count};
        ssize_t n = sendmsg(fd, &data, MSG_NOSIGNAL);
        if (!goes_on(fd, n, until_ms))
            return false;
        size_t sent = n > 0 ? (size_t)n : 0;
        for (; count > 0 && sent >= pieces->iov_len; pieces++, count--)
            sent -= pieces->iov_len;
        if (count > 0) {
            pieces->iov_base = (char *)pieces->iov_base + sent;
            pieces->iov_len -= sent;
        }
    }
    return true;
}

static bool send_file(int fd, const struct front_message *message, int64_t until_ms)
{
    off_t at = 0;
    while ((size_t)at < message->size)
        if (!goes_on(fd, sendfile(fd, message->fd, &at, message->size - (size_t)at), until_ms))
            return false;
    return true;
}

static bool send_message(int fd, const struct front_request *request, const struct front_message *message,
                         int64_t until_ms)
{
    char rest[32];
    int length = snprintf(rest, sizeof(rest), "\r\nBDAT %zu\r\n", message->size);
    struct iovec pieces[] = {
        {.iov_base = (char *)(uintptr_t)request->command, .iov_len = request->length}, /* not modified */
        {.iov_base = rest, .iov_len = (size_t)length},
        {.iov_base = message->bytes, .iov_len = message->fd < 0 ? message->size : 0},
    };
    return send_pieces(fd, pieces, 3, until_ms) && (message->fd < 0 || send_file(fd, message, until_ms));
}

/* Connects and waits for the greeting. early: sends the message first. */
static enum front_service await_turn(struct front_replies *replies, const struct front_request *request,
                                     const struct front_message *message, bool early, int64_t until_ms)
{
    enum front_service step = connect_to(replies->fd, request->socket);
    if (step != FRONT_SERVICE_OK)
        return step;
    bool sent = !early || send_message(replies->fd, request, message, base_now_ms() + FRONT_HAND_OVER_MS);
    step = await_greeting(replies, until_ms); /* also explains a failed send */
    return step == FRONT_SERVICE_OK && !sent ? FRONT_SERVICE_NOT_TAKEN : step;
}

/* Replaces the socket. */
static bool renew(struct front_replies *replies)
{
    int fd OD_CLEANUP(base_close) = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    replies->used = replies->end = 0;
    return fd >= 0 && dup3(fd, replies->fd, O_CLOEXEC) >= 0;
}

/* Retries await_turn while the service is busy. Sends a small message early, but once: a busy service would not read
 * it. *ret_sent: sent. */
static enum front_service take_turn(struct front_replies *replies, const struct front_request *request,
                                    const struct front_message *message, bool *ret_sent)
{
    const int64_t until = base_now_ms() + FRONT_TURN_MS;
    *ret_sent = message->fd < 0;
    for (int pause_ms = FIRST_PAUSE_MS;; pause_ms += pause_ms < LAST_PAUSE_MS ? pause_ms / 2 : 0) {
        enum front_service step = await_turn(replies, request, message, *ret_sent, until);
        if (step != FRONT_SERVICE_BUSY || base_now_ms() + pause_ms >= until)
            return step;
        *ret_sent = false;
        (void)poll(NULL, 0, pause_ms);
        if (output_peer_closed())
            return FRONT_SERVICE_GONE;
        if (!renew(replies))
            return FRONT_SERVICE_NOT_TAKEN;
    }
}

/* Reads that the service accepts, and how long it may take. */
static bool is_taken(struct front_replies *replies, int64_t until_ms, int64_t *ret_ms)
{
    char *line;
    return front_reply_read(replies, until_ms, -1, &line) == FRONT_LINE_OK && front_reply_accepts(line, ret_ms);
}

/* Last check that the message is complete. */
static enum front_service send_last_mark(int fd, int64_t until_ms)
{
    ssize_t sent;
    do {
        if (output_peer_closed())
            return FRONT_SERVICE_GONE;
        sent = send(fd, final_mark, strlen(final_mark), MSG_NOSIGNAL);
    } while (sent < 0 && goes_on(fd, sent, until_ms));
    return sent < 0 ? FRONT_SERVICE_NOT_TAKEN : FRONT_SERVICE_OK;
}

enum front_service front_service_deliver(int fd, const struct front_request *request,
                                         const struct front_message *message, struct front_reply *ret)
{
    struct error error;
    char *line;
    int64_t ms;
    bool sent;
    ret->replies.fd = fd;
    ret->replies.used = ret->replies.end = 0;
    if (!deadline_arm(FRONT_TURN_MS + FRONT_HAND_OVER_MS, &error))
        return FRONT_SERVICE_NOT_TAKEN;
    enum front_service step = take_turn(&ret->replies, request, message, &sent);
    if (step != FRONT_SERVICE_OK)
        return step;
    const int64_t until = base_now_ms() + FRONT_HAND_OVER_MS;
    if ((!sent && !send_message(fd, request, message, until)) || !is_taken(&ret->replies, until, &ms) ||
        !deadline_arm(until - base_now_ms() + ms + FRONT_REPLY_MS, &error))
        return FRONT_SERVICE_NOT_TAKEN;
    step = send_last_mark(fd, until);
    if (step != FRONT_SERVICE_OK)
        return step;
    enum front_line read = front_reply_read(&ret->replies, base_now_ms() + ms + FRONT_REPLY_MS, output_pipe(), &line);
    if (read == FRONT_LINE_GONE)
        return FRONT_SERVICE_GONE;
    bool replied = read == FRONT_LINE_OK && front_reply_codes(line, &ret->status, &ret->text);
    return replied ? FRONT_SERVICE_OK : FRONT_SERVICE_UNKNOWN;
}
