/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_LMTP_SERVICE_SOCKET_H
#define ONCEDROP_LMTP_SERVICE_SOCKET_H

#include <sys/types.h>

#include "base/base.h"

struct lmtp_service_socket {
    int fd;      /* listening; non-blocking */
    int lock_fd; /* locks the path; -1: not needed */
    char *path;  /* of our unix socket, else NULL */
    dev_t device;
    ino_t inode;
};

/* Opens the socket that systemd passes (sd_listen_fds(3), with Accept=no), or else a new one.
 *
 * name      path of a unix socket, or HOST:PORT; HOST: localhost or numeric ([::1]:PORT)
 * networks  service.allowed_networks; "": HOST must be loopback
 *
 * A unix socket has mode 0666: lmtp_service_worker.c says who may do what. Replaces a dead service's socket, but no
 * other file. Creates PATH.lock. */
bool lmtp_service_socket_open(const char *name, const char *networks, struct lmtp_service_socket *ret,
                              struct error *error) OD_MUST;

/* Returns whether it is HOST:PORT, and other hosts may reach it. */
bool lmtp_service_socket_is_remote(const char *name) OD_MUST;

/* Stops listening. Removes the file if it is still ours. */
void lmtp_service_socket_close(struct lmtp_service_socket *socket);

#endif
