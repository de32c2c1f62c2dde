/* SPDX-License-Identifier: ISC
 *
 * The certificate that an IMAP server presented, accepted or not. */
#ifndef ONCEDROP_IMAP_CERTIFICATE_H
#define ONCEDROP_IMAP_CERTIFICATE_H

#include "base/base.h"

struct imap_certificate {
    bool shown;        /* there was one: */
    bool accepted;     /* chain, validity and host name are accepted */
    char subject[256]; /* names as in RFC 4514 */
    char issuer[256];
    int64_t ends; /* earliest expiry in the chain presented, seconds since 1970: then the chain is invalid */
};

#endif
