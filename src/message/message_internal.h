/* SPDX-License-Identifier: ISC
 *
 * What the files of message/ share. */
#ifndef ONCEDROP_MESSAGE_INTERNAL_H
#define ONCEDROP_MESSAGE_INTERNAL_H

#include "base/base.h"
#include "message/message.h"

/* message_digest.c
 * The content digest: SHA-256 over a message without the fields that transport adds or that differ between copies, and
 * with its fields unfolded. Of several CRs before an LF one counts, and none at the end: some servers (Dovecot) drop
 * them.
 *
 * A line end before a blank, with all white space around it, counts as one blank. RFC 5322, 2.2.3, removes only the
 * line end, but relays fold differently. A fold at two blanks in a row may cause a second copy, but no loss. */

/* ignore must outlive the digest. */
struct message_digest *message_digest_new(const char *const *ignore) OD_MUST;

void message_digest_feed(struct message_digest *digest, const unsigned char *bytes, size_t size);

/* Completes the digest, and begins another. Returns the number of bytes digested: the least that a copy has. */
size_t message_digest_end(struct message_digest *digest, unsigned char ret[MESSAGE_DIGEST_SIZE]);

void message_digest_free(struct message_digest **digest);

/* message_builder.c
 * Converts received bytes to bytes as appended (message.h), in pieces of any size. An mbox From_ line is a first line
 * that begins with "From " or ">From ". */

struct message_eol {
    enum { MESSAGE_EOL_FIRST_LINE, MESSAGE_EOL_FROM_LINE, MESSAGE_EOL_REST } state;
    size_t start, matched; /* part of ">From " held back */
    bool after_cr;
};

#define MESSAGE_EOL_ROOM(size) (2 * (size) + sizeof(">From "))

/* Writes at most MESSAGE_EOL_ROOM(size) bytes; returns how many. The struct must be zeroed initially. */
size_t message_eol_feed(struct message_eol *eol, const unsigned char *in, size_t size, unsigned char *out) OD_MUST;

/* Writes what is still held back, at most MESSAGE_EOL_ROOM(0) bytes. */
size_t message_eol_end(struct message_eol *eol, unsigned char *out) OD_MUST;

/* message_notice.c
 * Reads the attachment of a quarantine notice (decode/notice.c), in pieces from the server. */

#define NOTICE_LINE_MAX 256 /* longer lines are not the attachment's */

/* Initially zero, except for the first two members. */
struct notice_reader {
    void (*attachment)(void *context, const void *bytes, size_t size);
    void *context;
    enum notice_step { STEP_BEFORE, STEP_TEXT, STEP_HEADER, STEP_DATA, STEP_AFTER, STEP_OTHER } step;
    int state; /* of g_base64_decode_step */
    unsigned save;
    size_t length; /* of the current line */
    char line[NOTICE_LINE_MAX];
};

void notice_reader_feed(struct notice_reader *reader, const void *bytes, size_t size);

/* Returns true if a complete notice was read; another may follow. */
bool notice_reader_end(struct notice_reader *reader) OD_MUST;

/* msgid.c */

/* Reads the Message-ID of a header into *message, whose id members are zero; id_bytes points into the header. The id is
 * between '<' and the last '>', without comments and blanks around it (a lenient reading of RFC 5322, 3.6.4). */
void msgid_read(const unsigned char *header, size_t size, struct message *message);

#endif
