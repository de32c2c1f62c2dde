/* SPDX-License-Identifier: ISC
 *
 * The content digest as a state machine over chunks. */
#include "message/message_digest.h"

#include <string.h>

#include "base/sha256.h"
#include "message/message_field.h"
#include "message/message_scan.h"

#define NAME_HELD 128 /* at least this much of a name is held back; longer ones are rare */

struct hash {
    struct sha256 *sha256;
    size_t size;    /* bytes hashed */
    size_t held_cr; /* not hashed yet */
};

struct message_digest {
    struct hash hash;
    struct hash before; /* the state before a name that may still be left out; sha256 is NULL if there is none */
    struct hash solid;  /* the state before the white space that ends a field so far; likewise */
    const char *const *ignore;
    struct message_scan scan;
    bool in_field;
    bool line_ended;     /* a line of the field has ended; a continuation line makes this a fold */
    bool folded;         /* since a fold, there were only blanks */
    bool left_out;       /* whether to leave out the field of the current line */
    size_t held, room;   /* of the current name: bytes known; not hashed unless `before` is set */
    unsigned char *name; /* [room]: as long as the longest name to compare with */
};

/* What MTAs and filters add, differently each time. No program of an author writes them, so that no two messages of one
 * author differ only there. Who adds which: oncedrop.conf(5). */
/* clang-format off */
static const char *const transport_fields[] = {
    /* MTAs and mail stores */
    "Return-Path", "Received", "Delivered-To", "X-Original-To", "Envelope-To", "Delivery-date", "X-Host-Lookup-Failed",
    "X-Envelope-From", "X-Envelope-To", "X-Authentication-Warning", "X-Sieve", "X-Cyrus-Session-Id", "X-getmail-*",
    "X-Stalwart-*",
    /* Exchange and Microsoft 365 */
    "X-MS-Exchange-Organization-*", "X-MS-Exchange-CrossTenant-*", "X-MS-Exchange-Transport-*",
    "X-MS-Exchange-AntiSpam-*", "X-MS-Exchange-SkipListed*", "X-MS-Office365-Filtering-*",
    "X-MS-TrafficTypeDiagnostic", "X-MS-PublicTrafficType", "X-EOPAttributedMessage", "X-EOPTenantAttributedMessage",
    "X-Microsoft-Antispam*", "X-Forefront-Antispam-Report*", "X-Exchange-Antispam-Report*", "X-OriginalArrivalTime",
    /* Gmail and Amazon SES */
    "X-Received", "X-Gm-*", "X-Google-Smtp-Source", "X-Forwarded-Encrypted", "X-Forwarded-To", "X-Forwarded-For",
    "X-SES-*",
    /* who checks where a message is from */
    "Authentication-Results", "Authentication-Results-Original", "Original-Authentication-Results",
    "Old-Authentication-Results", "X-Authentication-Results", "X-Original-Authentication-Results", "Received-SPF",
    "ARC-*", "DKIM-Filter", "X-DKIM", "DMARC-Filter", "X-Greylist", "X-policyd-weight",
    /* filters for spam and viruses */
    "X-Spam", "X-Spam-*", "X-Spam_*", "X-Spamd-*", "X-Rspamd-*", "X-Stat-Signature", "X-OS-Fingerprint", "Deliver-To",
    "X-Amavis-*", "X-Quarantine-ID", "X-Virus*", "X-AV-Checked", "X-Scanned-By", "X-MailScanner*", "X-Bogosity",
    "X-CRM114-*", "X-DSPAM-*", "X-Spambayes-*", "X-SpamProbe", "X-DCC-*", "X-Pyzor", "X-Haraka-*",
    /* gateways */
    "X-Barracuda-*", "X-ASG-*", "X-BESS-*", "X-Brightmail-Tracker", "X-AuditID", "X-Msg-Ref", "X-Env-Sender",
    "X-StarScan-*", "X-IronPort-*", "IronPort-*", "X-Amp-*", "X-FE-*", "X-FEAS-*", "X-Halon-*", "X-KLMS-*", "X-KSMG-*",
    "X-Mailprotector-*", "X-Mimecast-*", "X-MC-Unique", "X-Proofpoint-*", "X-Sophos-*", "X-PMX-*", "X-TM-*",
    "X-TMASE-*", "X-IMSS-*",
    NULL,
};
/* clang-format on */

static size_t longest(const char *const *patterns, size_t most)
{
    for (; patterns != NULL && *patterns != NULL; patterns++)
        most = strlen(*patterns) > most ? strlen(*patterns) : most;
    return most;
}

struct message_digest *message_digest_new(const char *const *ignore)
{
    struct message_digest *digest = base_alloc(sizeof(*digest));

    digest->hash.sha256 = sha256_new();
    digest->ignore = ignore;
    digest->room = longest(ignore, longest(transport_fields, NAME_HELD));
    digest->name = base_alloc(digest->room);
    return digest;
}

/* Of a longer name only the beginning is known, which suffices: no pattern is longer. */
static bool listed(const struct message_digest *digest, const char *const *patterns)
{
    for (; patterns != NULL && *patterns != NULL; patterns++)
        if (message_field_name_is(digest->name, digest->scan.name_length, *patterns))
            return true;
    return false;
}

/* The next CR within these bytes that is not part of a CRLF. */
static const unsigned char *odd_cr(const unsigned char *bytes, const unsigned char *end)
{
    const unsigned char *cr = memchr(bytes, '\r', (size_t)(end - bytes));

    while (cr != NULL && end - cr > 1 && cr[1] == '\n')
        cr = memchr(cr + 2, '\r', (size_t)(end - cr - 2));
    return cr;
}

static void release_cr(struct hash *hash, size_t count)
{
    hash->size += count;
    while (count-- > 0)
        sha256_feed(hash->sha256, "\r", 1);
    hash->held_cr = 0;
}

/* Hashes bytes, but only one of several CRs before an LF, and none at the very end: some servers' storage (Dovecot's
 * for one) drops them, and the message must still count as the same. */
static void update(struct hash *hash, const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;

    while (bytes < end) {
        if (hash->held_cr > 0 && *bytes == '\r') {
            hash->held_cr++;
            bytes++;
            continue;
        }
        release_cr(hash, *bytes == '\n' && hash->held_cr > 0 ? 1 : hash->held_cr);
        const unsigned char *cr = odd_cr(bytes, end), *stop = cr != NULL ? cr : end;
        sha256_feed(hash->sha256, bytes, (size_t)(stop - bytes));
        hash->size += (size_t)(stop - bytes);
        hash->held_cr = cr != NULL;
        bytes = cr != NULL ? cr + 1 : end;
    }
}

static void clear(struct hash *hash)
{
    sha256_free(&hash->sha256);
    *hash = (struct hash){0};
}

static struct hash saved(const struct hash *hash)
{
    struct hash copy = *hash;

    copy.sha256 = sha256_copy(hash->sha256);
    return copy;
}

/* Adds a part of a name. If it does not fit, it is hashed, after the previous state of the hash was saved. */
static void hold_name(struct message_digest *digest, const unsigned char *bytes, size_t size)
{
    size_t room = digest->room - digest->held;
    size_t kept = size < room ? size : room;

    memcpy(digest->name + digest->held, bytes, kept);
    digest->held += kept;
    if (kept == size)
        return;
    if (digest->before.sha256 == NULL) {
        digest->before = saved(&digest->hash);
        update(&digest->hash, digest->name, digest->held);
    }
    update(&digest->hash, bytes + kept, size - kept);
}

/* The field is known to be content, or to be left out: deals with what was held back. */
static void end_name(struct message_digest *digest, bool left_out)
{
    if (digest->before.sha256 != NULL && left_out) {
        clear(&digest->hash);
        digest->hash = digest->before;
        digest->before.sha256 = NULL;
    } else if (digest->before.sha256 == NULL && !left_out) {
        update(&digest->hash, digest->name, digest->held);
    }
    clear(&digest->before);
    digest->held = 0;
    digest->left_out = left_out;
}

/* All of the white space around a fold counts as one blank. */
static void fold(struct message_digest *digest)
{
    clear(&digest->hash);
    digest->hash = saved(&digest->solid);
    update(&digest->hash, (const unsigned char *)" ", 1);
    digest->folded = true;
}

/* Hashes bytes of one line of a field. */
static void update_field(struct message_digest *digest, const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size, *white = end;

    if (digest->line_ended)
        fold(digest);
    while (digest->folded && bytes < end && message_is_blank((char)*bytes))
        bytes++;
    while (white > bytes && message_is_white((char)white[-1]))
        white--;
    digest->folded = digest->folded && bytes == end;
    digest->line_ended = end[-1] == '\n';
    if (white > bytes) {
        clear(&digest->solid);
        update(&digest->hash, bytes, (size_t)(white - bytes));
    }
    if (white < end && digest->solid.sha256 == NULL)
        digest->solid = saved(&digest->hash);
    update(&digest->hash, white, (size_t)(end - white));
}

static void end_field(struct message_digest *digest)
{
    clear(&digest->solid);
    digest->in_field = digest->line_ended = digest->folded = false;
}

static void take_span(struct message_digest *digest, enum message_span span, const unsigned char *bytes, size_t size)
{
    switch (span) {
    case MESSAGE_SPAN_NAME:
        end_field(digest);
        hold_name(digest, bytes, size);
        return;
    case MESSAGE_SPAN_COLON:
        end_name(digest, listed(digest, transport_fields) || listed(digest, digest->ignore));
        break;
    case MESSAGE_SPAN_VALUE:
        digest->in_field = true;
        break;
    case MESSAGE_SPAN_FOLD:
        break;
    case MESSAGE_SPAN_OTHER:
    case MESSAGE_SPAN_END:
    case MESSAGE_SPAN_BODY:
        end_field(digest);
        end_name(digest, false);
        break;
    }
    if (digest->left_out)
        return;
    if (digest->in_field)
        update_field(digest, bytes, size);
    else
        update(&digest->hash, bytes, size);
}

void message_digest_feed(struct message_digest *digest, const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;

    while (bytes < end) {
        enum message_span span;
        size_t n = message_scan_take(&digest->scan, bytes, (size_t)(end - bytes), &span);

        take_span(digest, span, bytes, n);
        bytes += n;
    }
}

size_t message_digest_end(struct message_digest *digest, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    end_name(digest, false);
    sha256_end(digest->hash.sha256, ret);
    return digest->hash.size;
}

void message_digest_free(struct message_digest **digest)
{
    if (*digest == NULL)
        return;
    clear(&(*digest)->hash);
    clear(&(*digest)->before);
    clear(&(*digest)->solid);
    base_free(&(*digest)->name);
    base_free(digest);
}
