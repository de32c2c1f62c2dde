/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_IMAP_TRUST_H
#define ONCEDROP_IMAP_TRUST_H

#include <gnutls/x509.h>

#include "base/base.h"

/* Returns the authorities in this PEM file; "": the system's. Caches them for ten minutes, or until the file changes.
 * Valid until the next call. NULL with the error set: none. */
gnutls_x509_trust_list_t imap_trust(const char *file, struct error *error) OD_MUST;

#endif
