/* SPDX-License-Identifier: ISC
 *
 * I/O on a connected, non-blocking socket; imap_tls.c does it over TLS. Returns the number of bytes after up to `ms`
 * milliseconds; -1 with errno: connection lost, or EAGAIN (timeout). */
#ifndef ONCEDROP_IMAP_SOCKET_H
#define ONCEDROP_IMAP_SOCKET_H

#include <sys/types.h>

#include "base/base.h"

/* 0: the peer closed. */
ssize_t imap_socket_read(int fd, void *to, size_t size, int64_t ms) OD_MUST;

/* Sends some of the bytes. */
ssize_t imap_socket_write(int fd, const void *bytes, size_t size, int64_t ms) OD_MUST;

#endif
