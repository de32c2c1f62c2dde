/* SPDX-License-Identifier: ISC
 *
 * The dialogue in the debug log: "imap ACCOUNT C: LINE" is sent, "S:" received. Credentials are masked; of literals and
 * fetched text only the size is logged. */
#ifndef ONCEDROP_IMAP_DEBUG_H
#define ONCEDROP_IMAP_DEBUG_H

#include <sys/uio.h>

#include "base/debug.h"

struct imap_debug {
    char *account; /* NULL: unknown */
    /* Masked during the login; else NULL. */
    const char *password;
    const char *secret; /* as it is sent */
};

void imap_debug_fact(const struct imap_debug *debug, const char *format, ...) OD_PRINTF(2, 3);

/* tag: of the current command. */
void imap_debug_sent(const struct imap_debug *debug, const char *tag, const char *line);

void imap_debug_sent_literal(const struct imap_debug *debug, const struct iovec *pieces, size_t count);

/* response: the start of the response that has this line. */
void imap_debug_received(const struct imap_debug *debug, const char *response, const char *line);

void imap_debug_received_literal(const struct imap_debug *debug, size_t size);

#endif
