/* SPDX-License-Identifier: ISC
 *
 * How workers of the service hand messages to keepers, processes without clients that keep the accounts' sessions. A message goes
 * to the keeper of its account as a datagram, with a socket for the answer. The worker takes it back if the keeper does not begin
 * soon; which of the two was first is decided by a number in shared memory, the ticket. */
#ifndef ONCEDROP_LMTP_RELAY_H
#define ONCEDROP_LMTP_RELAY_H

#include <stdatomic.h>

#include "base/base.h"

#define LMTP_KEEPERS_MAX 300        /* as of service.workers */
#define LMTP_RELAY_MOST (64 * 1024) /* bytes of a datagram */

/* Sockets that keepers receive from and workers send to. */
struct lmtp_inboxes {
    size_t count;
    int out[LMTP_KEEPERS_MAX], in[LMTP_KEEPERS_MAX];
};

/* NULL with errno set. */
struct lmtp_inboxes *lmtp_inboxes_new(size_t count) OD_MUST;
void lmtp_inboxes_free(struct lmtp_inboxes **inboxes);

/* A worker's part of it. */
struct lmtp_relay {
    const struct lmtp_inboxes *inboxes;
    size_t number;            /* of this worker */
    _Atomic uint64_t *ticket; /* its own, of what it has sent, until the keeper begins; 0: none */
    uint64_t last;            /* ticket */
};

/* The account's keeper. address: in lower case. */
size_t lmtp_relay_keeper(const struct lmtp_relay *relay, const char *address) OD_MUST;

/* Sends a message to a keeper. Returns the socket to wait on for the answer; -1: it could not be sent, and is not. */
int lmtp_relay_send(struct lmtp_relay *relay, size_t keeper, const void *bytes, size_t size) OD_MUST;

enum lmtp_relay_wait {
    LMTP_RELAY_ANSWER,
    LMTP_RELAY_BACK, /* the keeper has not begun, and will not */
    LMTP_RELAY_GONE, /* the keeper has ended, perhaps in the middle of the delivery */
};

/* Waits for the answer to what was sent last. until_ms: by base_now_ms(), then it is taken back if the keeper has not begun;
 * otherwise there is no limit but the keeper's. *ret_size: of an answer of at most `size` bytes. */
enum lmtp_relay_wait lmtp_relay_await(struct lmtp_relay *relay, int fd, int64_t until_ms, void *answer, size_t size,
                                      size_t *ret_size) OD_MUST;

/* For a keeper: the next message in its inbox that is not taken back, nor can be from here on; false: there is none now.
 *
 * tickets        [workers]
 * buffer         of LMTP_RELAY_MOST bytes
 * *ret_size      of the message in it
 * *ret_reply_fd  for lmtp_relay_answer; closing it unanswered tells the worker that we have ended */
bool lmtp_relay_receive(int inbox, _Atomic uint64_t *tickets, size_t workers, void *buffer, size_t *ret_size,
                        int *ret_reply_fd) OD_MUST;

/* Whoever waits may be gone: then this does nothing. */
void lmtp_relay_answer(int reply_fd, const void *bytes, size_t size);

#endif
