/* SPDX-License-Identifier: ISC
 *
 * A connection to an IMAP server, and its bytes.
 *
 * libetpan provides the stream: buffered reads and writes on a descriptor of ours, each with a time limit, and TLS that
 * can be started in the middle, with the name for SNI and the chain that the server presented (imap_tls.c). It makes
 * TCP, a unix socket and a command's socketpair look the same to the layers above, with or without TLS; that is why we
 * use it. The price is one time limit for the whole process, select(2)'s FD_SETSIZE, and errors reported only by errno.
 * Everything above the stream is our own. libetpan's IMAP does not distinguish "refused" from "lost", waits for ever
 * after an untagged line before a '+', reads lines without limit, takes a truncated line for a whole one, and sends
 * mailbox names unencoded; it does not verify certificates. */
#ifndef ONCEDROP_IMAP_STREAM_H
#define ONCEDROP_IMAP_STREAM_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/base.h"
#include "imap/imap_connect.h"
#include "imap/imap_reply.h"

/* Receives a literal BODY[...] in pieces as they arrive, first with size 0. In the response it is replaced by "". */
typedef void imap_body(void *context, const void *bytes, size_t size);

struct imap {
    void *stream;        /* libetpan's mailstream; NULL: not connected, lost, or closed by us */
    char *where;         /* "IMAP server mail.example.org:993"; every fault begins with it */
    int64_t timeout;     /* per read and write, ms */
    int64_t until_ms;    /* the next response must begin before this, by base_now_ms(); 0: within the timeout */
    pid_t child;         /* imap.command, or 0 */
    unsigned tag_number; /* of the current command, ... */
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
    size_t responses;   /* to the current command so far */
    size_t budget;      /* bytes that may still arrive for the current command, */
    size_t body_budget; /* and bytes that may go to `body` */
};

#define IMAP_RESPONSE_MAX ((size_t)128 * 1024)

/* Opens a stream over a connected socket, which it then owns. False with the fault set: the socket is closed. */
bool imap_stream_open(struct imap *imap, int fd, struct fault *fault) OD_MUST;

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
