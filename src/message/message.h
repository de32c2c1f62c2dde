/* SPDX-License-Identifier: ISC
 *
 * A message: its bytes as appended, and its identity. Never re-serialised. The only changes: line ends become CRLF (a
 * bare CR is not one: RFC 5321, 2.3.8), an mbox From_ line is removed, NUL becomes 0x80. message_read.c has what no
 * other title names. */
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

/* Returns the first header field of that name, in any case, unfolded and trimmed, at most 1 MiB: a new string
 * (free(3)); NULL: none. */
char *message_header(const struct message *message, const char *name) OD_MUST;

enum message_fields {
    MESSAGE_ALL_FIELDS,
    MESSAGE_NO_RECIPIENT, /* without Delivered-To and X-Original-To, which are private to one recipient; only among
                             the first 65536 pieces of the header */
    MESSAGE_NO_ENVELOPE,  /* also without Return-Path */
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

/* message_builder.c
 * Builds a message from pieces, for message_read and LMTP's DATA. */

/* ignore must outlive the builder. */
struct message_builder *message_builder_new(size_t size_limit, const char *const *ignore) OD_MUST;

/* Before the first bytes: the input has no mbox From_ line, even if the header looks like one. */
void message_builder_no_from_line(struct message_builder *builder);

/* Adds received bytes, in pieces of any size; drops those beyond the limit. After a failure all later calls fail. */
bool message_builder_feed(struct message_builder *builder, const void *bytes, size_t size, struct error *error) OD_MUST;

/* Completes the message, like message_read. The builder must still be freed. */
enum message_result message_builder_end(struct message_builder *builder, struct message **ret,
                                        struct error *error) OD_MUST;

void message_builder_free(struct message_builder **builder);

void message_free(struct message **message);

/* message_comparison.c
 * Compares messages that an IMAP server returns with the one searched for, in pieces: a server may send any amount. */

enum message_likeness {
    MESSAGE_OTHER,
    MESSAGE_SIMILAR, /* differs only in what some servers change */
    MESSAGE_SAME,
};

/* Compares content digests. MESSAGE_SIMILAR: they are equal without CRs and final newlines (Courier drops and adds
 * some), without fields of mbox stores (X-UID, Status, ...), and perhaps with X for header bytes >= 0x80 (Cyrus,
 * munge8bit). Only for a search before an APPEND. message and ignore must outlive the comparison.
 *
 * If only the digest is known (message->data is NULL), nothing is MESSAGE_SIMILAR: see message_comparison_unclear(). */
struct message_comparison *message_comparison_new(const struct message *message, const char *const *ignore) OD_MUST;

/* Compares a notice in the message's place (decode/notice.c): MESSAGE_SAME if its attachment has the message's content,
 * else MESSAGE_OTHER. The text and trace fields may be those of another attempt. */
struct message_comparison *message_comparison_new_notice(const struct message *message,
                                                         const char *const *ignore) OD_MUST;

/* Compares Message-IDs, fed as FETCH BODY[HEADER.FIELDS (MESSAGE-ID)]. MESSAGE_SIMILAR: there is no id. */
struct message_comparison *message_comparison_new_id(const struct message *message) OD_MUST;

void message_comparison_feed(struct message_comparison *comparison, const void *bytes, size_t size);

/* Returns the result, and starts over. */
enum message_likeness message_comparison_end(struct message_comparison *comparison) OD_MUST;

/* Sets digests of other messages, which are not unclear. They must outlive the comparison. */
void message_comparison_set_variants(struct message_comparison *comparison,
                                     const unsigned char (*variants)[MESSAGE_DIGEST_SIZE], size_t count);

/* Returns true if only the digest is known, and a candidate had another content, which is no variant's: it may be the
 * message as the server has changed it. comparison may be NULL. */
bool message_comparison_unclear(const struct message_comparison *comparison) OD_MUST;

void message_comparison_free(struct message_comparison **comparison);

#define NOTICE_BOUNDARY "=_oncedrop_explanation" /* no line of text or base64 begins with "--" */

#endif
