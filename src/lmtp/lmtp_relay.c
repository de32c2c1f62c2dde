/* SPDX-License-Identifier: ISC
 *
 * Datagrams between processes of one program. The parent holds both ends of each inbox: what a keeper that died has not
 * received its successor gets, and what it had begun ends with its end of the answer's socket. */
#include "lmtp/lmtp_relay.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Before the bytes of each datagram. */
struct head {
    uint64_t ticket;
    size_t worker;
};

void lmtp_inboxes_free(struct lmtp_inboxes **inboxes)
{
    for (size_t i = 0; *inboxes != NULL && i < (*inboxes)->count; i++) {
        base_close(&(*inboxes)->out[i]);
        base_close(&(*inboxes)->in[i]);
    }
    base_free(inboxes);
}

struct lmtp_inboxes *lmtp_inboxes_new(size_t count)
{
    struct lmtp_inboxes *inboxes = base_alloc(sizeof(*inboxes));
    for (size_t i = 0; i < count; i++) {
        int fds[2];
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds) != 0) {
            lmtp_inboxes_free(&inboxes);
            return NULL;
        }
        inboxes->out[i] = fds[0];
        inboxes->in[i] = fds[1];
        inboxes->count++;
    }
    return inboxes;
}

size_t lmtp_relay_keeper(const struct lmtp_relay *relay, const char *address)
{
    return g_str_hash(address) % relay->inboxes->count;
}

/* A datagram with a descriptor (SCM_RIGHTS, unix(7)). */
static bool send_with_fd(int post_fd, const struct head *head, const void *bytes, size_t size, int fd)
{
    struct iovec parts[] = {{(void *)(uintptr_t)head, sizeof(*head)},
                            {(void *)(uintptr_t)bytes, size}}; /* not modified */
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {.bytes = ""};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    return sendmsg(post_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)(sizeof(*head) + size);
}

/* Takes the message of this ticket for ourselves: true for one of the two who try. */
static bool take_ticket(_Atomic uint64_t *ticket, uint64_t number)
{
    return atomic_compare_exchange_strong(ticket, &number, 0);
}

int lmtp_relay_send(struct lmtp_relay *relay, size_t keeper, const void *bytes, size_t size)
{
    int fds[2];
    struct head head = {.ticket = ++relay->last, .worker = relay->number};
    if (size > LMTP_RELAY_MOST || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
        return -1;
    atomic_store(relay->ticket, head.ticket);
    bool sent = send_with_fd(relay->inboxes->in[keeper], &head, bytes, size, fds[1]);
    close(fds[1]);
    if (sent)
        return fds[0];
    atomic_store(relay->ticket, 0);
    close(fds[0]);
    return -1;
}

enum lmtp_relay_wait lmtp_relay_await(struct lmtp_relay *relay, int fd, int64_t until_ms, void *answer, size_t size,
                                      size_t *ret_size)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    int n = base_poll(&waited, 1, until_ms);
    if (n == 0 && take_ticket(relay->ticket, relay->last))
        return LMTP_RELAY_BACK;
    if (n == 0) /* it has begun */
        n = base_poll(&waited, 1, INT64_MAX);
    ssize_t length = n > 0 ? recv(fd, answer, size, MSG_DONTWAIT) : -1;
    if (length <= 0)
        return LMTP_RELAY_GONE;
    *ret_size = (size_t)length;
    return LMTP_RELAY_ANSWER;
}

/* -1: none came along. */
static int received_fd(struct msghdr *message)
{
    int fd = -1;
    const struct cmsghdr *rights = CMSG_FIRSTHDR(message);
    if (rights != NULL && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
    return fd;
}

bool lmtp_relay_receive(int inbox, _Atomic uint64_t *tickets, size_t workers, void *buffer, size_t *ret_size,
                        int *ret_reply_fd)
{
    for (;;) {
        struct head head = {.ticket = 0};
        struct iovec parts[] = {{&head, sizeof(head)}, {buffer, LMTP_RELAY_MOST}};
        union {
            char bytes[CMSG_SPACE(sizeof(int))];
            struct cmsghdr aligned;
        } control;
        struct msghdr message = {.msg_iov = parts,
                                 .msg_iovlen = 2,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof(control.bytes)};
        ssize_t n = recvmsg(inbox, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0 && errno != EINTR)
            return false;
        int fd = n >= 0 ? received_fd(&message) : -1;
        if (n >= (ssize_t)sizeof(head) && fd >= 0 && head.ticket != 0 && head.worker < workers &&
            take_ticket(&tickets[head.worker], head.ticket)) {
            *ret_size = (size_t)n - sizeof(head);
            *ret_reply_fd = fd;
            return true;
        }
        base_close(&fd); /* its worker has taken it back */
    }
}

void lmtp_relay_answer(int reply_fd, const void *bytes, size_t size)
{
    (void)send(reply_fd, bytes, size, MSG_NOSIGNAL);
}
