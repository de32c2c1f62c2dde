/* SPDX-License-Identifier: ISC
 *
 * The dialogue in the debug log: "imap ACCOUNT C: LINE" is sent, "S:" is received. No credential is shown, and of a literal
 * or a fetched text only the size. */
#ifndef ONCEDROP_IMAP_DEBUG_H
#define ONCEDROP_IMAP_DEBUG_H

#include <sys/uio.h>

#include "base/debug.h"

struct imap_debug {
    char *account; /* whose session it is; NULL: not known yet */
    /* While logging in, what must not be shown; else NULL. */
    const char *password; /* as it is */
    const char *secret;   /* as it is sent */
};

/* Logs an event of the connection. */
void imap_debug_fact(const struct imap_debug *debug, const char *format, ...) OD_PRINTF(2, 3);

/* A line that is sent. tag: of the current command. */
void imap_debug_sent(const struct imap_debug *debug, const char *tag, const char *line);

/* A literal that is sent, in pieces. */
void imap_debug_sent_literal(const struct imap_debug *debug, const struct iovec *pieces, size_t count);

/* A line that was received. response: the beginning of the response that it belongs to, which may be the line itself. */
void imap_debug_received(const struct imap_debug *debug, const char *response, const char *line);

/* A literal that the server announced. size: bytes. */
void imap_debug_received_literal(const struct imap_debug *debug, size_t size);

#endif
