/* SPDX-License-Identifier: ISC
 *
 * The resident service: a parent that only looks after its workers (lmtp_service_worker.h), each of which serves one
 * connection at a time. They are processes for the same reasons as in replay/replay_workers.h. */
#ifndef ONCEDROP_LMTP_SERVICE_H
#define ONCEDROP_LMTP_SERVICE_H

#include "base/config.h"
#include "lmtp/lmtp_service_socket.h"

struct lmtp_service {
    struct config *config;             /* in force; replaced by a reload */
    struct lmtp_service_socket socket; /* see lmtp_service_socket_open */
    /* Reads the configuration anew: NULL with the fault set, and nothing changed, if it is wrong. */
    struct config *(*load)(void *context, struct fault *fault);
    void *context;
};

/* Runs until SIGTERM or SIGINT: then no connection is accepted any more, transactions under way end (after
 * delivery.deadline, or a second signal, they are broken off), and it returns. SIGHUP: the configuration is loaded and
 * new workers begin with it, while the old ones end their transactions; a wrong one is logged and ignored. A worker
 * that dies is replaced, ever more slowly while new ones die at once. systemd is told (sd_notify(3)).
 *
 * The signals must not be blocked or ignored by others in this process, which must have no other children. */
void lmtp_service_run(struct lmtp_service *service);

#endif
