/* SPDX-License-Identifier: ISC
 *
 * The socket that the service listens on. */
#ifndef ONCEDROP_LMTP_SERVICE_SOCKET_H
#define ONCEDROP_LMTP_SERVICE_SOCKET_H

#include <sys/types.h>

#include "base/base.h"

struct lmtp_service_socket {
    int fd;      /* listening; non-blocking */
    int lock_fd; /* held for as long as the service runs, so that no second one takes the path; -1: none needed */
    char *path;  /* of a unix socket that we made; NULL: of another kind, or systemd's */
    dev_t device;
    ino_t inode;
};

/* Takes the socket that systemd passes (sd_listen_fds(3), with Accept=no), else makes one.
 *
 * name      the path of a unix socket, or HOST:PORT, where HOST is localhost or a numeric address ([::1]:PORT)
 * networks  service.networks; if it is empty, HOST must be of the loopback interface
 *
 * Everybody may connect to a unix socket that we make (mode 0666): lmtp_service_worker.h says who may do what. The file of a
 * service that is gone is replaced; never one on which somebody listens, nor one that is no socket. Beside it is a file
 * PATH.lock. False with the fault set on trouble, also for an address that other machines reach, if it may not be. */
bool lmtp_service_socket_open(const char *name, const char *networks, struct lmtp_service_socket *ret,
                              struct fault *fault) OD_MUST;

/* Whether the name is HOST:PORT, and other machines may reach it. */
bool lmtp_service_socket_is_remote(const char *name) OD_MUST;

/* Stops listening, and removes the file, if it is still ours and the directory lets us. */
void lmtp_service_socket_close(struct lmtp_service_socket *socket);

#endif
