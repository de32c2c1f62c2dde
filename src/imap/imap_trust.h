/* SPDX-License-Identifier: ISC
 *
 * The certificate authorities that servers are verified by. */
#ifndef ONCEDROP_IMAP_TRUST_H
#define ONCEDROP_IMAP_TRUST_H

#include <gnutls/x509.h>

#include "base/base.h"

/* Returns those in this PEM file, or the system's if the path is "". They are read once, and again if the file has changed or
 * ten minutes have passed; the list is valid until the next call. NULL with the fault set: there are none. */
gnutls_x509_trust_list_t imap_trust(const char *file, struct fault *fault) OD_MUST;

#endif
