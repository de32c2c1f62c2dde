/* SPDX-License-Identifier: ISC */
#include "message/message_internal.h"

#include <string.h>

#include "message/message_field.h"

struct hash {
    struct sha256 sha256;
    size_t size;    /* bytes hashed */
    size_t held_cr; /* not hashed yet */
};

struct message_digest {
    struct hash hash;
    struct hash before; /* state before the current name, which may be left out */
    struct hash solid;  /* state before the field's trailing white space */
    const char *const *ignore;
    struct message_scan scan;
    bool in_field;
    bool line_ended;     /* a continuation line makes this a fold */
    bool folded;         /* only blanks since a fold */
    bool left_out;       /* the current line's field is */
    size_t held, room;   /* bytes of the current name */
    unsigned char *name; /* [room], as long as the longest pattern */
};

/* Fields that MTAs and filters add, differently each time, and no author's program. oncedrop.conf(5) says who adds
 * which. */
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
    /* sender authentication */
    "Authentication-Results", "Authentication-Results-Original", "Original-Authentication-Results",
    "Old-Authentication-Results", "X-Authentication-Results", "X-Original-Authentication-Results", "Received-SPF",
    "ARC-*", "DKIM-Filter", "X-DKIM", "DMARC-Filter", "X-Greylist", "X-policyd-weight",
    /* spam and virus filters */
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

static size_t longest(const char *const *patterns, size_t max)
{
    for (; patterns != NULL && *patterns != NULL; patterns++)
        max = strlen(*patterns) > max ? strlen(*patterns) : max;
    return max;
}

struct message_digest *message_digest_new(const char *const *ignore)
{
    struct message_digest *digest = base_alloc(sizeof(*digest));

    sha256_begin(&digest->hash.sha256);
    digest->ignore = ignore;
    digest->room = longest(ignore, longest(transport_fields, 0));
    digest->name = base_alloc(digest->room);
    return digest;
}

/* The beginning of a longer name suffices: no pattern is longer. */
static bool listed(const struct message_digest *digest, const char *const *patterns)
{
    for (; patterns != NULL && *patterns != NULL; patterns++)
        if (message_field_name_is(digest->name, digest->scan.name_length, *patterns))
            return true;
    return false;
}

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
        sha256_feed(&hash->sha256, "\r", 1);
    hash->held_cr = 0;
}

/* Hashes bytes, except the CRs that do not count. */
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
        sha256_feed(&hash->sha256, bytes, (size_t)(stop - bytes));
        hash->size += (size_t)(stop - bytes);
        hash->held_cr = cr != NULL;
        bytes = cr != NULL ? cr + 1 : end;
    }
}

static void update_name(struct message_digest *digest, const unsigned char *bytes, size_t size)
{
    size_t room = digest->room - digest->held;
    size_t kept = size < room ? size : room;

    if (digest->held == 0)
        digest->before = digest->hash;
    memcpy(digest->name + digest->held, bytes, kept);
    digest->held += kept;
    update(&digest->hash, bytes, size);
}

static void end_name(struct message_digest *digest, bool left_out)
{
    if (left_out)
        digest->hash = digest->before;
    digest->held = 0;
    digest->left_out = left_out;
}

static void fold(struct message_digest *digest)
{
    digest->hash = digest->solid;
    update(&digest->hash, (const unsigned char *)" ", 1);
    digest->folded = true;
}

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
        update(&digest->hash, bytes, (size_t)(white - bytes));
        digest->solid = digest->hash;
    }
    update(&digest->hash, white, (size_t)(end - white));
}

static void end_field(struct message_digest *digest)
{
    digest->in_field = digest->line_ended = digest->folded = false;
}

static void take_span(struct message_digest *digest, enum message_span span, const unsigned char *bytes, size_t size)
{
    switch (span) {
    case MESSAGE_SPAN_NAME:
        end_field(digest);
        update_name(digest, bytes, size);
        return;
    case MESSAGE_SPAN_COLON:
        end_name(digest, listed(digest, transport_fields) || listed(digest, digest->ignore));
        break;
    case MESSAGE_SPAN_VALUE:
        if (!digest->in_field)
            digest->solid = digest->hash;
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
    size_t size;

    end_name(digest, false);
    sha256_end(&digest->hash.sha256, ret);
    size = digest->hash.size;
    *digest = (struct message_digest){.ignore = digest->ignore, .room = digest->room, .name = digest->name};
    sha256_begin(&digest->hash.sha256);
    return size;
}

void message_digest_free(struct message_digest **digest)
{
    if (*digest == NULL)
        return;
    base_free(&(*digest)->name);
    base_free(digest);
}
