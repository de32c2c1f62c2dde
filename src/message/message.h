/* SPDX-License-Identifier: ISC
 *
 * A message: its bytes as they will be appended, and its identity. It is read once and never re-serialised. The only
 * changes: line ends become CRLF, an mbox From_ line is removed, NUL becomes 0x80. A bare CR is not a line end (RFC
 * 5321, 2.3.8) and is kept. */
#ifndef ONCEDROP_MESSAGE_H
#define ONCEDROP_MESSAGE_H

#include <sys/uio.h>

#include "base/base.h"
#include "base/config.h"

#define MESSAGE_DIGEST_SIZE 32
#define MESSAGE_ID_MOST ((size_t)1 << 18) /* how much of a Message-ID is copied; more than fits into an argument */

struct message {
    const unsigned char *data;                 /* normalised bytes; in memory, or a mapped unlinked temporary file */
    size_t size;                               /* of data */
    size_t header_size;                        /* up to and including the empty line; size if there is none */
    unsigned char digest[MESSAGE_DIGEST_SIZE]; /* content digest (message_digest.h); several CRs before an LF count
                                                  as one, and those at the end do not count: some servers drop them */
    size_t content_size;                       /* number of bytes digested: a copy may have more, added by transport */
    const char *id_bytes; /* the Message-ID in data, between '<' and the last '>', folded as it is; NULL if missing,
                             empty or damaged */
    size_t id_size;
    char *message_id; /* the same, unfolded, bytes unchanged, NUL-terminated; at most MESSAGE_ID_MOST of them */
    size_t message_id_length;
    bool message_id_folded;      /* its field was folded inside the id: servers differ on how to search for it */
    size_t message_id_count;     /* number of Message-ID fields in the header */
    size_t received_size;        /* bytes read, before line ends were converted */
    struct message_store *store; /* owns data */
};

enum message_result {
    MESSAGE_OK,
    MESSAGE_EMPTY,     /* there was no input: not a message */
    MESSAGE_TOO_LARGE, /* over size_limit */
    MESSAGE_TROUBLE,   /* read error, or no memory or disk space for it */
};

/* Reads fd to its end, once.
 *
 * fd          pipe, socket or file
 * size_limit  bytes as appended, 0: none. Input beyond it is read and dropped, so that the writer does not get EPIPE.
 * ignore      identity.ignore: NULL-terminated names of fields to leave out of the digest in addition to the built-in
 *             ones, or NULL
 *
 * On MESSAGE_OK *ret is a new message; otherwise *ret is untouched and the fault is set. Up to 1 MiB of the message is
 * kept in memory; a larger message is kept in an unlinked file in TMPDIR (default /tmp), mapped.
 *
 * For input in pieces (LMTP, replay) see message_builder.h. */
enum message_result message_read(int fd, size_t size_limit, const char *const *ignore, struct message **ret,
                                 struct fault *fault) OD_MUST;

void message_free(struct message **message);

/* The value of the first header field of that name (case-insensitive): unfolded (CRLF before a blank removed), trimmed,
 * bytes otherwise unchanged, at most the first MiB; NULL if there is no such field. To be freed with free(3). */
char *message_header(const struct message *message, const char *name) OD_MUST;

enum message_fields {
    MESSAGE_ALL_FIELDS,
    MESSAGE_NO_ENVELOPE, /* without Return-Path, Delivered-To and X-Original-To: one recipient's envelope is private
                            to that recipient. Only among the first 65536 pieces of the header: memory must not
                            grow with the message */
};

/* The message with these fields only, as pieces of message->data in order.
 *
 * Returns a new array (free(3)) of *ret_count pieces; *ret_size is the sum of their sizes. */
struct iovec *message_pieces(const struct message *message, enum message_fields fields, size_t *ret_count,
                             size_t *ret_size) OD_MUST;

/* The identity of a message in the ledger: SHA-256 over namespace NUL id, where id is the Message-ID's bytes, unfolded,
 * or, without one, the content digest in lower-case hexadecimal. The lock key is its first 8 bytes, big-endian, signed.
 *
 * id  folded or not */
void message_identity(const char *namespace, const char *id, size_t id_length, unsigned char ret[MESSAGE_DIGEST_SIZE]);

/* The same for this message. Every byte of a long id counts. */
void message_own_identity(const struct message *message, const char *namespace, unsigned char ret[MESSAGE_DIGEST_SIZE]);

int64_t message_lock_key(const unsigned char identity[MESSAGE_DIGEST_SIZE]) OD_MUST;

#endif
