/* SPDX-License-Identifier: ISC
 *
 * TLS over a connection to an IMAP server. */
#ifndef ONCEDROP_IMAP_TLS_H
#define ONCEDROP_IMAP_TLS_H

#include "base/config.h"

struct imap;

/* The certificate that a server presented. */
struct imap_certificate {
    bool shown;        /* there was one: */
    bool accepted;     /* chain, validity and host name are accepted */
    char subject[256]; /* names as in RFC 4514 */
    char issuer[256];
    int64_t ends; /* earliest expiry in the chain presented, seconds since 1970: then the chain is invalid */
};

/* Starts TLS over the plain stream, then verifies the certificate. False with the fault set: the stream must not be
 * used, only closed. ret: may be NULL. */
bool imap_tls_start(struct imap *imap, const struct config *config, struct imap_certificate *ret,
                    struct fault *fault) OD_MUST;

#endif
