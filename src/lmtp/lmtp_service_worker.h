/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_LMTP_SERVICE_WORKER_H
#define ONCEDROP_LMTP_SERVICE_WORKER_H

#include <stdatomic.h>

#include "base/config.h"

#define LMTP_WORKERS_MAX 300 /* of service.workers */

/* The workers' state, in shared memory. The parent clears a dead worker's. */
struct lmtp_service_load {
    size_t workers;
    _Atomic size_t slot_mutex; /* slot mutex: its holder's number + 1; 0: free */
    struct {
        _Atomic bool busy;
        _Atomic int64_t uid; /* of an untrusted client, plus 1; 0: none */
    } worker[LMTP_WORKERS_MAX];
};

/* Clears the worker's state. */
void lmtp_service_leave(struct lmtp_service_load *load, size_t number);

/* Serves connections until stop_fd is readable, and finishes the transaction in flight. SIGTERM, and a delivery's
 * deadline, end the process with status 75. Precondition: a separate process.
 *
 * Trusted are root, our own user, the users in service.trusted_users, and TCP clients: TCP does not identify them, so
 * choosing it trusts all of this host and of service.allowed_networks. TCP clients from elsewhere are refused. Untrusted
 * clients deliver to their own account only, and get one connection per user, and half of the workers; others get 421.
 * So a trusted client always finds a worker.
 *
 * listen_fd  non-blocking; workers may share it
 * number     index in `load` */
bool lmtp_service_worker(const struct config *config, int listen_fd, int stop_fd, struct lmtp_service_load *load,
                         size_t number, struct error *error) OD_MUST;

#endif
