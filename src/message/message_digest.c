/* SPDX-License-Identifier: ISC
 *
 * The content digest as a state machine over chunks. */
#include "message/message_digest.h"

#include <glib.h>
#include <string.h>

#include "message/message_field.h"

#define NAME_MAX_SIZE 128   /* no field that is left out has a longer name */

struct message_digest {
    GChecksum *sha256;
    const char *const *ignore;
    size_t size;                        /* bytes hashed */
    size_t held_cr;                     /* not hashed yet */
    enum { IN_NAME, IN_FIELD, IN_BODY } state;
    bool left_out;                      /* the field that the line belongs to */
    size_t name_length;
    unsigned char name[NAME_MAX_SIZE];  /* beginning of a line, held back until it is known what it is */
};

static const char *const transport_fields[] = {
    "Return-Path", "Received", "Delivered-To", "X-Original-To", "Envelope-To", "Authentication-Results",
    "Received-SPF", "ARC-*", "X-Spam-*", "X-Rspamd-*", "X-Virus-*", NULL,
};

struct message_digest *message_digest_new(const char *const *ignore)
{
    struct message_digest *digest = base_alloc(sizeof *digest);

    digest->sha256 = g_checksum_new(G_CHECKSUM_SHA256);
    digest->ignore = ignore;
    return digest;
}

static bool listed(const struct message_digest *digest, const char *const *patterns)
{
    for (; patterns && *patterns; patterns++)
        if (message_field_name_is(digest->name, digest->name_length, *patterns))
            return true;
    return false;
}

/* The next CR that is not simply the CR of a CRLF within these bytes. */
static const unsigned char *odd_cr(const unsigned char *bytes, const unsigned char *end)
{
    const unsigned char *cr = memchr(bytes, '\r', (size_t)(end - bytes));

    while (cr && end - cr > 1 && cr[1] == '\n')
        cr = memchr(cr + 2, '\r', (size_t)(end - cr - 2));
    return cr;
}

static void release_cr(struct message_digest *digest, size_t count)
{
    digest->size += count;
    while (count-- > 0)
        g_checksum_update(digest->sha256, (const guchar *)"\r", 1);
    digest->held_cr = 0;
}

/* Hashes bytes, but of several CR before an LF only one, and none at the very end: there a server's storage drops
 * some (Dovecot one of them), and what comes back is still the same message. */
static void update(struct message_digest *digest, const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;

    while (bytes < end) {
        const unsigned char *cr;

        if (digest->held_cr > 0 && *bytes == '\r') {
            digest->held_cr++;
            bytes++;
            continue;
        }
        release_cr(digest, *bytes == '\n' && digest->held_cr > 0 ? 1 : digest->held_cr);
        cr = odd_cr(bytes, end);
        g_checksum_update(digest->sha256, bytes, (cr ? cr : end) - bytes);
        digest->size += (size_t)((cr ? cr : end) - bytes);
        digest->held_cr = cr != NULL;
        bytes = cr ? cr + 1 : end;
    }
}

/* What was held back turns out to be content. */
static void release_name(struct message_digest *digest)
{
    update(digest, digest->name, digest->name_length);
    digest->name_length = 0;
}

/* Takes one byte of a line's beginning; false when the byte is the first of what follows the name. */
static bool take_name(struct message_digest *digest, unsigned char byte)
{
    bool first = digest->name_length == 0;
    bool after_cr = !first && digest->name[0] == '\r';

    if (byte == '\n' && (first || after_cr)) {
        digest->state = IN_BODY;
    } else if (byte == ':') {
        digest->left_out = listed(digest, transport_fields) || listed(digest, digest->ignore);
        if (digest->left_out)
            digest->name_length = 0;
        digest->state = IN_FIELD;
    } else if (first && (byte == ' ' || byte == '\t')) {
        digest->state = IN_FIELD;   // a continuation line goes with its field
        return false;
    } else if (digest->name_length == NAME_MAX_SIZE || byte == '\n' || (after_cr != (byte == '\r') && !first)) {
        digest->left_out = false;
        digest->state = IN_FIELD;
    } else {
        digest->name[digest->name_length++] = byte;
        return true;
    }
    release_name(digest);
    return false;
}

void message_digest_feed(struct message_digest *digest, const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;

    while (bytes < end) {
        const unsigned char *next = end;

        if (digest->state == IN_NAME) {
            bytes += take_name(digest, *bytes);
            continue;
        }
        if (digest->state == IN_FIELD) {
            const unsigned char *lf = memchr(bytes, '\n', (size_t)(end - bytes));

            if (lf) {
                next = lf + 1;
                digest->state = IN_NAME;
            }
        }
        if (digest->state == IN_BODY || !digest->left_out)
            update(digest, bytes, (size_t)(next - bytes));
        bytes = next;
    }
}

void message_digest_end(struct message_digest *digest, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    gsize size = MESSAGE_DIGEST_SIZE;

    release_name(digest);
    g_checksum_get_digest(digest->sha256, ret, &size);
}

size_t message_digest_size(const struct message_digest *digest)
{
    return digest->size;
}

void message_digest_free(struct message_digest **digest)
{
    if (!*digest)
        return;
    g_checksum_free((*digest)->sha256);
    base_free(digest);
}
