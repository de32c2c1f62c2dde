/* SPDX-License-Identifier: ISC
 *
 * Bytes on a connected, non-blocking socket, each call within its time. imap_tls.c has the same over TLS. */
#ifndef ONCEDROP_IMAP_SOCKET_H
#define ONCEDROP_IMAP_SOCKET_H

#include <sys/types.h>

#include "base/base.h"

/* Waits up to ms milliseconds for bytes, and returns how many there are of at most `size`. 0: the other side has closed the
 * connection; -1 with errno: it is lost, or (EAGAIN) the time is over. */
ssize_t imap_socket_read(int fd, void *to, size_t size, int64_t ms) OD_MUST;

/* Waits up to ms milliseconds until some of the bytes can be sent, and returns how many were. -1 with errno: likewise. */
ssize_t imap_socket_write(int fd, const void *bytes, size_t size, int64_t ms) OD_MUST;

#endif
