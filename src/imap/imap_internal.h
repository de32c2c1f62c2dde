/* SPDX-License-Identifier: ISC
 *
 * What the files of imap/ share. */
#ifndef ONCEDROP_IMAP_INTERNAL_H
#define ONCEDROP_IMAP_INTERNAL_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/base.h"
#include "base/debug.h"

/* imap_socket.c
 * I/O on a connected, non-blocking socket; imap_tls.c does it over TLS. Returns the number of bytes after up to `ms`
 * milliseconds; -1 with errno: connection lost, or EAGAIN (timeout). */

/* 0: the peer closed. */
ssize_t imap_socket_read(int fd, void *to, size_t size, int64_t ms) OD_MUST;

/* Sends some of the bytes. */
ssize_t imap_socket_write(int fd, const void *bytes, size_t size, int64_t ms) OD_MUST;

/* imap_token.c */

enum imap_token { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_ATOM, TOKEN_STRING };

/* A position in a response; `text` is the last atom or string, unquoted in place. */
struct imap_cursor {
    char *at;
    char *end;
    char *text;
    size_t size;
};

/* Returns whether the line ends with a literal's "{n}". Not for status responses, whose text may end so. */
bool imap_token_literal(const char *line, size_t size, size_t *ret_literal, size_t *ret_start) OD_MUST;

/* Moves past a token. TOKEN_END: none, or incomplete. */
enum imap_token imap_token_next(struct imap_cursor *cursor) OD_MUST;

/* Skips the value that begins with this token: atom, string or list. False: incomplete. */
bool imap_token_skip(struct imap_cursor *cursor, enum imap_token token) OD_MUST;

/* imap_debug.c
 * The dialogue in the debug log: "imap ACCOUNT C: LINE" is sent, "S:" received. Credentials are masked; of literals and
 * fetched text only the size is logged. */

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
