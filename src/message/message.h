/* SPDX-License-Identifier: ISC
 *
 * A message: its bytes as they are appended, and its identity. Read once, never re-serialised: only line ends become
 * CRLF, the mbox From_ line goes, NUL becomes 0x80. A bare CR is not a line end (RFC 5321, 2.3.8) and stays. */
#ifndef ONCEDROP_MESSAGE_H
#define ONCEDROP_MESSAGE_H

#include <sys/uio.h>

#include "base/base.h"
#include "base/config.h"

#define MESSAGE_DIGEST_SIZE 32

struct message {
    const unsigned char *data;                 /* normalised bytes; memory, or a map of an unlinked temporary file */
    size_t size;                               /* of data */
    size_t header_size;                        /* up to and including the empty line; size when there is none */
    unsigned char digest[MESSAGE_DIGEST_SIZE]; /* content digest; several CR before an LF count as one, and those
                                                  at the end not: storage of servers drops some */
    size_t content_size; /* bytes that the digest was made from: copies may have more, by what transport added */
    char *message_id;    /* between '<' and the last '>', bytes as they are, NUL-terminated besides;
                                       NULL when missing, empty or damaged */
    size_t message_id_length;
    bool message_id_folded;      /* its field was folded inside the id: servers disagree on how to search it */
    size_t message_id_count;     /* Message-ID fields in the header */
    size_t received_size;        /* bytes read, before line ends were changed */
    struct message_store *store; /* who owns data */
};

enum message_result {
    MESSAGE_OK,
    MESSAGE_EMPTY,     /* nothing to read: not a message */
    MESSAGE_TOO_LARGE, /* over size_limit */
    MESSAGE_TROUBLE,   /* read error, no memory or disk for it */
};

/* Reads fd to its end, once.
 *
 * fd          pipe, socket or file
 * size_limit  bytes as appended, 0: none. The rest is still read (and dropped), so that the writer sees no EPIPE.
 * ignore      identity.ignore: NULL-terminated field names left out of the digest besides the built-in ones, or NULL
 *
 * On MESSAGE_OK *ret is a new message; otherwise *ret is untouched and the fault is set. Memory: up to 1 MiB of the
 * message in memory, a larger one in an unlinked file in TMPDIR (default /tmp), mapped. */
enum message_result message_read(int fd, size_t size_limit, const char *const *ignore, struct message **ret,
                                 struct fault *fault) OD_MUST;

/* The same from memory, for replay and tests. message_builder.h takes a message piece by piece, for LMTP. */
enum message_result message_from_bytes(const void *bytes, size_t size, size_t size_limit, const char *const *ignore,
                                       struct message **ret, struct fault *fault) OD_MUST;

void message_free(struct message **message);

/* Value of the first header field of that name (case-insensitive), unfolded (CRLF before a blank removed), outer blanks
 * off, bytes otherwise kept, of a longer value the first MiB; NULL when there is none. To be freed with free(3).
 * *ret_length may be NULL. */
char *message_header(const struct message *message, const char *name, size_t *ret_length) OD_MUST;

enum message_fields {
    MESSAGE_ALL_FIELDS,
    MESSAGE_NO_ENVELOPE, /* without Return-Path, Delivered-To and X-Original-To, which name one recipient's envelope:
                            nobody else is to read them. As far as the header is in the first 65536 pieces: memory is
                            not to grow with the message */
};

/* The message with these fields, as pieces of message->data in order.
 *
 * Returns a new array (free(3)) of *ret_count pieces; *ret_size is their sum. */
struct iovec *message_pieces(const struct message *message, enum message_fields fields, size_t *ret_count,
                             size_t *ret_size) OD_MUST;

/* True when the bytes, as an IMAP server gives them back, have the message's content digest. */
bool message_same_content(const struct message *message, const void *bytes, size_t size,
                          const char *const *ignore) OD_MUST;

/* True when a header, as FETCH BODY[HEADER.FIELDS (MESSAGE-ID)] answers it, has exactly the message's Message-ID. */
bool message_same_id(const struct message *message, const void *header, size_t size) OD_MUST;

/* Parses one Message-ID field value (unfolded or not). Comments and blanks outside come off; the id is what stands
 * between '<' and the last '>'. Returns false (nothing set) when it is empty or has no such pair.
 * *ret is a new string (free(3)) that may contain any byte. RFC 5322, 3.6.4, read leniently. */
bool msgid_parse(const char *value, size_t length, char **ret, size_t *ret_length, bool *ret_folded) OD_MUST;

/* The identity of a message in the ledger: SHA-256 over namespace NUL id, where id is the Message-ID's bytes or,
 * without one, the content digest in lower-case hexadecimal. The lock key is its first 8 bytes, big-endian, signed. */
void message_identity(const char *namespace, const char *id, size_t id_length, unsigned char ret[MESSAGE_DIGEST_SIZE]);
int64_t message_lock_key(const unsigned char identity[MESSAGE_DIGEST_SIZE]) OD_MUST;

/* The key for callers that must not stand in others' way: the same of SHA-256 over identity and account. */
int64_t message_account_key(const unsigned char identity[MESSAGE_DIGEST_SIZE], const char *account) OD_MUST;

#endif
