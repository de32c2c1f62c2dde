/* SPDX-License-Identifier: ISC
 *
 * A worker of the service: a process that serves one connection after the other. */
#ifndef ONCEDROP_LMTP_SERVICE_WORKER_H
#define ONCEDROP_LMTP_SERVICE_WORKER_H

#include <stdatomic.h>

#include "base/config.h"

#define LMTP_WORKERS_MAX 300 /* as of service.workers */

/* Which workers have a client, in memory that they share. A worker that dies cannot say so: its parent does. */
struct lmtp_service_load {
    size_t workers;
    _Atomic size_t door; /* the number, plus 1, of the worker that looks for a place for a user; 0: none */
    struct {
        _Atomic bool busy;
        _Atomic int64_t uid; /* of a client that is not believed, plus 1; 0: there is none */
    } worker[LMTP_WORKERS_MAX];
};

/* Says that a worker has no client. */
void lmtp_service_leave(struct lmtp_service_load *load, size_t number);

/* Accepts connections until stop_fd is readable, and finishes the transaction under way; then returns. SIGTERM and the
 * deadline of a delivery end the process with status 75. To be called in a process of its own.
 *
 * Believed are root, the user that this process runs as, and the users in service.clients. So is everybody who connects
 * by TCP: there nothing is known of a client, and the administrator who chose TCP has said that every user of this host
 * may deliver, and everybody in service.networks; clients from elsewhere are refused at once. Anybody else delivers to the
 * own account only.
 *
 * Clients that are not believed get one connection per user at a time, and half of the workers: others of them get 421 at
 * once, and try again. So a client that is believed finds a worker, whatever they do.
 *
 * listen_fd  a non-blocking socket that may be shared with other workers
 * number     the worker's place in `load`
 *
 * False with the fault set: it could not begin. */
bool lmtp_service_worker(const struct config *config, int listen_fd, int stop_fd, struct lmtp_service_load *load,
                         size_t number, struct fault *fault) OD_MUST;

#endif
