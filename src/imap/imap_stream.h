/* SPDX-License-Identifier: ISC
 *
 * A connection to an IMAP server, and its bytes.
 *
 * A socket, buffers, and TLS that can be started in the middle (imap_tls.h). */
#ifndef ONCEDROP_IMAP_STREAM_H
#define ONCEDROP_IMAP_STREAM_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/base.h"
#include "imap/imap_debug.h"
#include "imap/imap_reply.h"
#include "imap/imap_tls.h"

/* Receives a literal BODY[...] in pieces as they arrive, first with size 0. In the response it is replaced by "". */
typedef void imap_body(void *context, const void *bytes, size_t size);

struct imap {
    struct imap_stream *stream; /* NULL: not connected, lost, or closed by us */
    char *where;                /* "IMAP server mail.example.org:993"; every fault begins with it */
    int64_t timeout;            /* per read and write, ms */
    int64_t until_ms;           /* the next response must begin before this, by base_now_ms(); 0: within the timeout */
    pid_t child;                /* imap.command, or 0 */
    unsigned tag_number;        /* of the current command, ... */
    char tag[16];
    char command[16];        /* ... and its name */
    const char *step;        /* the same, or what else is being done, for faults */
    struct imap_reply reply; /* the last response; valid until the next is read. None: imap_reply_none */
    char *capabilities;      /* as last announced; NULL: unknown, since TLS or the login may have changed them */
    char *farewell;          /* the text of the server's BYE */
    struct imap_certificate certificate; /* the server's */
    bool logged_in;                      /* imap.command's server needs no login (PREAUTH) */
    bool refused;                        /* the login was, by an answer or by closing the connection */
    bool crowded;                        /* the login was, with a code that may mean: too many sessions */
    bool ended;                          /* the server ended the connection */
    char *bytes;                         /* the last response, NUL-terminated, including literals */
    size_t size;
    size_t capacity;
    size_t response_max; /* longest response allowed, including literals */
    imap_body *body;     /* receives what is fetched; may be NULL */
    void *body_context;
    size_t responses; /* to the current command so far */
    struct imap_debug debug;
    size_t budget;      /* bytes that may still arrive for the current command, */
    size_t body_budget; /* and bytes that may go to `body` */
};

#define IMAP_RESPONSE_MAX ((size_t)128 * 1024)

/* Opens a stream over a connected, non-blocking socket, which it then owns. */
void imap_stream_open(struct imap *imap, int fd);

/* Starts TLS, and verifies the certificate, which imap->certificate shows. False with the fault set: the stream must not be
 * used, only closed. */
bool imap_stream_secure(struct imap *imap, const struct config *config, struct fault *fault) OD_MUST;

/* Whether something has arrived and was not taken. */
bool imap_stream_unread(const struct imap *imap) OD_MUST;

/* Whether there is a connection, and the other side has not closed it, as far as the kernel knows. */
bool imap_stream_connected(const struct imap *imap) OD_MUST;

/* Whether unsent bytes are discarded when the socket closes, or the process dies (SO_LINGER of 0). */
void imap_stream_discard_unsent(struct imap *imap, bool on);

/* Sends the pieces and a line end. False: not all was sent. The connection stays open then, since the server may have
 * sent the reason. */
bool imap_stream_write(struct imap *imap, const struct iovec *pieces, size_t count) OD_MUST;

/* The same; if not all was sent, the connection is closed and the fault set. */
bool imap_stream_line(struct imap *imap, const char *text, struct fault *fault) OD_MUST;

/* Waits until there are bytes to read, until imap->until_ms or for the timeout; *ret shows them, and the number is
 * returned. 0 with the fault set: the connection was lost, and is closed. */
size_t imap_stream_wait(struct imap *imap, const char **ret, struct fault *fault) OD_MUST;

/* Takes n of those. */
void imap_stream_take(struct imap *imap, void *to, size_t n);

/* Closes the connection without sending anything. */
void imap_stream_drop(struct imap *imap);

/* The same, and sets the fault to this reason. Always false. */
bool imap_stream_give_up(struct imap *imap, struct fault *fault, const char *why);

/* imap_response.c: reads one response: imap->reply. False: the fault is set, and there is none. */
bool imap_response_read(struct imap *imap, struct fault *fault) OD_MUST;

#endif
