/* SPDX-License-Identifier: ISC
 *
 * TLS over a connected socket: libetpan for handshake, SNI and I/O, GnuTLS to verify the certificate. Both are slow to
 * load and not always needed, hence a module, oncedrop-tls.so (base/module.c). */
#ifndef ONCEDROP_IMAP_TLS_H
#define ONCEDROP_IMAP_TLS_H

#include <sys/select.h>

#include "base/base.h"
#include "base/config.h"

/* Descriptors of a session, and their limit: libetpan adds a pipe, and uses select(2). */
#define IMAP_TLS_DESCRIPTORS 3
#define IMAP_TLS_BELOW FD_SETSIZE

struct imap_certificate {
    bool shown;        /* the server presented one: */
    bool accepted;     /* chain, validity and host name */
    char subject[256]; /* RFC 4514 */
    char issuer[256];
    int64_t ends; /* earliest expiry in the chain, seconds since 1970 */
};

/* Times are in milliseconds. Errors begin with `where`. */
struct imap_tls_module {
    /* The handshake. False: no session. */
    bool (*begin)(int fd, const struct config *config, const char *peer_name, int64_t ms, void **ret,
                  struct error *error);

    /* Verifies and describes the certificate. False: nothing may be sent. */
    bool (*verify)(void *session, const struct config *config, const char *peer_name, struct imap_certificate *ret,
                   struct error *error);

    /* See imap_socket.c; errno may be unset. */
    ssize_t (*read)(void *session, void *to, size_t size, int64_t ms);
    ssize_t (*write)(void *session, const void *bytes, size_t size, int64_t ms);

    /* Also closes the socket. */
    void (*end)(void *session);
};

/* imap_tls.c */
extern const struct imap_tls_module imap_tls_module;

#endif
