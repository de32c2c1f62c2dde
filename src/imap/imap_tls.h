/* SPDX-License-Identifier: ISC
 *
 * TLS over a connected socket. libetpan does the handshake and moves the bytes, with the name for SNI and the chain that the
 * server presented; GnuTLS verifies that chain. Loading both takes longer than a delivery's dialogue with a server on the
 * same host, which needs no TLS; so they are linked to a module, oncedrop-tls.so (base/module.h). */
#ifndef ONCEDROP_IMAP_TLS_H
#define ONCEDROP_IMAP_TLS_H

#include <sys/select.h>
#include <sys/types.h>

#include "base/base.h"
#include "base/config.h"

/* A session's descriptors, and the number below which they must be: libetpan adds a pipe to each socket, and waits with
 * select(2). */
#define IMAP_TLS_DESCRIPTORS 3
#define IMAP_TLS_BELOW FD_SETSIZE

/* The certificate that a server presented, accepted or not. */
struct imap_certificate {
    bool shown;        /* there was one: */
    bool accepted;     /* chain, validity and host name are accepted */
    char subject[256]; /* names as in RFC 4514 */
    char issuer[256];
    int64_t ends; /* earliest expiry in the chain presented, seconds since 1970: then the chain is invalid */
};

/* What the module offers. All times are in milliseconds. */
struct imap_tls_module {
    /* The handshake. False with the fault set, which begins with `where`: there is no TLS, and nothing to end. */
    bool (*begin)(int fd, const struct config *config, const char *where, int64_t ms, void **ret, struct fault *fault);

    /* Verifies the certificate, and describes it. False with the fault set, which begins with `where`: nothing may be sent. */
    bool (*verify)(void *session, const struct config *config, const char *where, struct imap_certificate *ret,
                   struct fault *fault);

    /* As imap_socket_read and imap_socket_write; errno may say nothing. */
    ssize_t (*read)(void *session, void *to, size_t size, int64_t ms);
    ssize_t (*write)(void *session, const void *bytes, size_t size, int64_t ms);

    /* Frees it, and closes the socket. */
    void (*end)(void *session);
};

/* In imap_tls.c; for imap_tls_load. */
extern const struct imap_tls_module imap_tls_module;

/* The module that is linked to this program (as it is to tests), or else is loaded (module_load). NULL with the fault set:
 * there is none that can be used. */
const struct imap_tls_module *imap_tls_load(struct fault *fault) OD_MUST;

#endif
