/* SPDX-License-Identifier: ISC
 *
 * The resident service: a parent that only supervises workers, which are processes (see replay/replay_workers.c) with
 * one connection at a time. */
#ifndef ONCEDROP_LMTP_SERVICE_H
#define ONCEDROP_LMTP_SERVICE_H

#include "base/config.h"
#include "lmtp/lmtp_service_socket.h"

struct lmtp_service {
    struct config *config;             /* replaced by a reload */
    struct lmtp_service_socket socket; /* see lmtp_service_socket_open() */
    /* Loads the configuration again. NULL with the error set: it is wrong, and nothing changed. */
    struct config *(*load)(void *context, struct error *error);
    void *context;
};

/* Runs until SIGTERM or SIGINT: then it waits for transactions in flight, up to delivery.deadline or a second signal.
 * SIGHUP reloads: new workers start, old ones finish their transactions; a wrong configuration is logged and ignored. A
 * dead worker is replaced, with backoff. Notifies systemd (sd_notify(3)).
 *
 * Precondition: these signals are neither blocked nor ignored, and the process has no other children. */
void lmtp_service_run(struct lmtp_service *service);

#endif
