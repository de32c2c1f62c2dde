/* SPDX-License-Identifier: ISC
 *
 * A message: its bytes as appended, and its identity. Never re-serialised. The only changes: line ends become CRLF (a
 * bare CR is not one: RFC 5321, 2.3.8), an mbox From_ line is removed, NUL becomes 0x80. */
#ifndef ONCEDROP_MESSAGE_H
#define ONCEDROP_MESSAGE_H

#include <sys/uio.h>

#include "base/base.h"
#include "base/config.h"

#define MESSAGE_DIGEST_SIZE 32
#define MESSAGE_ID_MAX ((size_t)1 << 18) /* longest copy of a Message-ID; more than an argument may have */

struct message {
    const unsigned char *data; /* in memory, or a mapped temp file */
    size_t size;
    size_t header_size;                        /* with the empty line; size if there is none */
    unsigned char digest[MESSAGE_DIGEST_SIZE]; /* of the content (message_digest.c) */
    size_t content_size;                       /* bytes digested; copies may have more, added in transport */
    const char *id_bytes;                      /* Message-ID in data, from '<' to the last '>', folded;
                                                  NULL: missing, empty or damaged */
    size_t id_size;
    char *message_id; /* unfolded, NUL-terminated; at most MESSAGE_ID_MAX */
    size_t message_id_length;
    bool message_id_folded; /* inside the id: servers search for it differently */
    size_t message_id_count;
    size_t received_size;        /* before line ends were converted */
    struct message_store *store; /* owns data */
};

enum message_result {
    MESSAGE_OK,
    MESSAGE_EMPTY, /* no input */
    MESSAGE_TOO_LARGE,
    MESSAGE_ERROR, /* read error, no memory or disk space */
};

/* Reads fd (pipe, socket or file) to its end, once.
 *
 * size_limit  bytes as appended; 0: none. Input beyond it is read and dropped, so that the writer gets no EPIPE
 * ignore      identity.ignore_headers: NULL-terminated names of further fields to leave out of the digest, or NULL
 *
 * On MESSAGE_OK *ret is new; otherwise it is untouched, and the error is set. */
enum message_result message_read(int fd, size_t size_limit, const char *const *ignore, struct message **ret,
                                 struct error *error) OD_MUST;

void message_free(struct message **message);

/* Returns the first header field of that name, in any case, unfolded and trimmed, at most 1 MiB: a new string
 * (free(3)); NULL: none. */
char *message_header(const struct message *message, const char *name) OD_MUST;

enum message_fields {
    MESSAGE_ALL_FIELDS,
    MESSAGE_NO_ENVELOPE, /* without Return-Path, Delivered-To, X-Original-To, which are private to one recipient;
                            only among the first 65536 pieces of the header */
};

/* Returns the message with these fields only: a new array (free(3)) of *ret_count pieces of message->data, *ret_size
 * bytes in all. */
struct iovec *message_pieces(const struct message *message, enum message_fields fields, size_t *ret_count,
                             size_t *ret_size) OD_MUST;

/* Computes the identity of a message in the ledger: SHA-256 over namespace NUL id. id: the Message-ID, folded or not,
 * or else the content digest in lower-case hexadecimal. The lock key is its first 8 bytes, big-endian, signed. */
void message_identity(const char *namespace, const char *id, size_t id_length, unsigned char ret[MESSAGE_DIGEST_SIZE]);

/* All bytes of a long id count. */
void message_own_identity(const struct message *message, const char *namespace, unsigned char ret[MESSAGE_DIGEST_SIZE]);

int64_t message_lock_key(const unsigned char identity[MESSAGE_DIGEST_SIZE]) OD_MUST;

#endif
