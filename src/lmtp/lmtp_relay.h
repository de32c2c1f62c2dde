/* SPDX-License-Identifier: ISC
 *
 * Workers of the service hand messages to each other, so that each account's session is kept in one of them: its owner. A message
 * goes to the owner as a datagram with a socket for the answer. Whoever sent it can take it back as long as the owner has
 * not begun; which of the two was first is decided by a number in shared memory, the ticket. */
#ifndef ONCEDROP_LMTP_RELAY_H
#define ONCEDROP_LMTP_RELAY_H

#include <stdatomic.h>

#include "base/base.h"

#define LMTP_RELAY_MOST (64 * 1024) /* bytes of a datagram */

/* A worker's part of it. */
struct lmtp_relay {
    size_t workers, number;    /* how many there are, and which one this is */
    _Atomic uint64_t *tickets; /* [workers], shared: the message that each has sent, until the owner begins; 0: none */
    const int *post_fds;       /* [workers]: to the inbox of each */
    int inbox_fd;              /* ours, without blocking; readable: see lmtp_relay_receive */
    uint64_t last;             /* ticket */
    unsigned char bytes[LMTP_RELAY_MOST];
};

/* The account's owner. address: in lower case. */
size_t lmtp_relay_owner(const struct lmtp_relay *relay, const char *address) OD_MUST;

/* Sends a message to its owner. Returns the socket to wait on for the answer; -1: it could not be sent, and is not. */
int lmtp_relay_send(struct lmtp_relay *relay, size_t owner, const void *bytes, size_t size) OD_MUST;

/* The next message of another worker, which nobody else has begun or takes back from here on; false: there is none now.
 *
 * *ret_bytes     in `relay`, until the next call
 * *ret_reply_fd  for lmtp_relay_answer; closing it unanswered tells the sender that we have ended */
bool lmtp_relay_receive(struct lmtp_relay *relay, const void **ret_bytes, size_t *ret_size, int *ret_reply_fd) OD_MUST;

/* Whoever waits may be gone: then this does nothing. */
void lmtp_relay_answer(int reply_fd, const void *bytes, size_t size);

enum lmtp_relay_wait {
    LMTP_RELAY_ANSWER,
    LMTP_RELAY_INBOX, /* meanwhile another worker has sent a message */
    LMTP_RELAY_BACK,  /* the owner did not begin for a moment, and will not */
    LMTP_RELAY_GONE,  /* the owner has ended, perhaps in the middle of the delivery */
};

/* Waits for the answer to what was sent last. until_ms: by base_now_ms(), then it is taken back if the owner has not begun;
 * otherwise there is no limit but the owner's. *ret_size: of an answer of at most `size` bytes. */
enum lmtp_relay_wait lmtp_relay_await(struct lmtp_relay *relay, int fd, int64_t until_ms, void *answer, size_t size,
                                      size_t *ret_size) OD_MUST;

#endif
