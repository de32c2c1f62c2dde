/* SPDX-License-Identifier: ISC
 *
 * The content digest: which parts of a message count, in chunks of every size; and where everybody finds the end of the
 * header. */
#include "message_fixture.h"

#include <glib.h>

#include "message/message_field.h"
#include "message/message_internal.h"

static const char *const ignore[] = {"X-Mine", "X-Any-*", NULL};

/* The digest of `bytes` is SHA-256 of `counts`. */
static const struct {
    const char *label;
    const char *bytes;
    const char *counts;
} cases[] = {
    {"plain", "Subject: x\r\n\r\nbody\r\n", "Subject: x\r\n\r\nbody\r\n"},
    {"Return-Path", "Return-Path: <a@b>\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"Received", "A: b\r\nReceived: from x\r\n\r\n", "A: b\r\n\r\n"},
    {"Delivered-To", "Delivered-To: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"X-Original-To", "X-Original-To: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"Envelope-To", "Envelope-To: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"Authentication-Results", "Authentication-Results: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"Received-SPF", "Received-SPF: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"ARC", "ARC-Seal: a\r\nARC-: b\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"X-Spam", "X-Spam-Status: a\r\nX-Rspamd-Score: a\r\nX-Virus-Scanned: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"ignored", "X-Mine: a\r\nx-any-thing: a\r\nX-Any: a\r\nX-Mine2: a\r\n\r\n", "X-Any: a\r\nX-Mine2: a\r\n\r\n"},
    {"case", "RECEIVED: a\r\nreturn-path: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"similar names", "Received2: a\r\nXReceived: a\r\nReceive: a\r\nARC: a\r\n\r\n",
     "Received2: a\r\nXReceived: a\r\nReceive: a\r\nARC: a\r\n\r\n"},
    {"continuation lines", "Received: a\r\n b\r\n\tc\r\n \r\nA: b\r\n c\r\n\r\n", "A: b c\r\n\r\n"},
    {"continuation of what stays", "A: b\r\n Received: c\r\nReceived: d\r\n\r\n", "A: b Received: c\r\n\r\n"},
    {"fold with a tab", "A: b\r\n\tc\r\n\r\n", "A: b c\r\n\r\n"},
    {"fold with blanks on both sides", "A: b \t\r\n \t c\r\n\r\n", "A: b c\r\n\r\n"},
    {"fold behind the colon", "A:\r\n b\r\nB: \r\n\tc\r\nC :\r\n d\r\n\r\n", "A: b\r\nB: c\r\nC : d\r\n\r\n"},
    {"fold twice", "A: b\r\n \r\n\t\r\n c\r\n\r\n", "A: b c\r\n\r\n"},
    {"fold before the end of a field", "A: b\r\n\t\r\nB: c\r\n \r\n\r\n", "A: b \r\nB: c \r\n\r\n"},
    {"fold before the end", "A: b\r\n\t", "A: b "},
    {"fold with LF", "A: b\n c\n\n", "A: b c\n\n"},
    {"fold with CR CR LF", "A: b\r\r\n\tc\r\n\r\n", "A: b c\r\n\r\n"},
    {"white space without a fold", "A:  b  c\td \t\r\nB:\tc\r\n\r\n", "A:  b  c\td \t\r\nB:\tc\r\n\r\n"},
    {"line end without white space", "A: b\r\nc\r\n\r\n", "A: b\r\nc\r\n\r\n"},
    {"bare CR before a blank", "A: b\r c\r\n\r\n", "A: b\r c\r\n\r\n"},
    {"fold in the body", "A: b\r\n\r\nA: b\r\n\tc\r\n", "A: b\r\n\r\nA: b\r\n\tc\r\n"},
    {"blank line behind a field", "A: b\r\n\r\n c\r\n", "A: b\r\n\r\n c\r\n"},
    {"continuation first", " Received: c\r\nReceived: d\r\n\r\n", " Received: c\r\n\r\n"},
    {"blanks before the colon", "Received \t: a\r\nA : b\r\n\r\n", "A : b\r\n\r\n"},
    {"blank in the name", "Received x: a\r\nARC-a b: c\r\n\r\n", "Received x: a\r\nARC-a b: c\r\n\r\n"},
    {"no colon", "Received\r\nReceived: a\r\n\r\n", "Received\r\n\r\n"},
    {"continuation of no field", "Received: a\r\nnonsense\r\n b\r\n\r\n", "nonsense\r\n b\r\n\r\n"},
    {"colon first", ": a\r\nReceived: a\r\n\r\n", ": a\r\n\r\n"},
    {"body", "A: b\r\n\r\nReceived: a\r\n\r\nReceived: b\r\n", "A: b\r\n\r\nReceived: a\r\n\r\nReceived: b\r\n"},
    {"no header", "\r\nReceived: a\r\n", "\r\nReceived: a\r\n"},
    {"no empty line", "Received: a\r\nA: b\r\nReceived: a", "A: b\r\n"},
    {"name cut by the end", "A: b\r\nReceived", "A: b\r\nReceived"},
    {"bare CR in a name", "Recei\rved: a\r\n\r\n", "Recei\rved: a\r\n\r\n"},
    {"bare CR first", "\rReceived: a\r\n\r\n", "\rReceived: a\r\n\r\n"},
    {"bare CR in a value", "Received: a\rA: b\r\nB: c\r\n\r\n", "B: c\r\n\r\n"},
    {"bare CR in the body", "\r\na\rb\r\n", "\r\na\rb\r\n"},
    {"CR CR LF", "A: b\r\r\n\r\na\r\r\r\nb\r\n", "A: b\r\n\r\na\r\nb\r\n"},
    {"CR CR LF as empty line", "A: b\r\n\r\r\nReceived: a\r\n", "A: b\r\n\r\nReceived: a\r\n"},
    {"CR at the end", "\r\na\r\r", "\r\na"},
    {"CR after a CRLF", "\r\na\r\n\r\rb\r\n", "\r\na\r\n\r\rb\r\n"},
    {"bare LF", "Received: a\nA: b\n\nReceived: c\n", "A: b\n\nReceived: c\n"},
};

/* What MTAs and filters add, and which. A trailing * matches any rest. */
static const struct {
    const char *name;
    const char *by;
} transport[] = {
    {"Return-Path", "every MTA"},
    {"Received", "every MTA"},
    {"Delivered-To", "Postfix, Courier, qmail"},
    {"X-Original-To", "Postfix"},
    {"Envelope-To", "Exim"},
    {"Delivery-date", "Exim"},
    {"X-Host-Lookup-Failed", "Exim as Debian sets it up"},
    {"X-Envelope-From", "amavis, milters"},
    {"X-Envelope-To", "amavis, milters"},
    {"X-Authentication-Warning", "sendmail"},
    {"X-Sieve", "Cyrus"},
    {"X-Cyrus-Session-Id", "Cyrus"},
    {"X-getmail-*", "getmail"},
    {"X-Stalwart-*", "Stalwart"},
    {"X-MS-Exchange-Organization-*", "Exchange"},
    {"X-MS-Exchange-CrossTenant-*", "Exchange"},
    {"X-MS-Exchange-Transport-*", "Exchange"},
    {"X-MS-Exchange-AntiSpam-*", "Exchange"},
    {"X-MS-Exchange-SkipListed*", "Exchange"},
    {"X-MS-Office365-Filtering-*", "Microsoft 365"},
    {"X-MS-TrafficTypeDiagnostic", "Microsoft 365"},
    {"X-MS-PublicTrafficType", "Microsoft 365"},
    {"X-EOPAttributedMessage", "Microsoft 365"},
    {"X-EOPTenantAttributedMessage", "Microsoft 365"},
    {"X-Microsoft-Antispam*", "Exchange"},
    {"X-Forefront-Antispam-Report*", "Exchange"},
    {"X-Exchange-Antispam-Report*", "Exchange"},
    {"X-OriginalArrivalTime", "Exchange"},
    {"X-Received", "Gmail"},
    {"X-Gm-*", "Gmail"},
    {"X-Google-Smtp-Source", "Gmail"},
    {"X-Forwarded-Encrypted", "Gmail"},
    {"X-Forwarded-To", "Gmail"},
    {"X-Forwarded-For", "Gmail"},
    {"X-SES-*", "Amazon SES"},
    {"Authentication-Results", "OpenDKIM, OpenDMARC, rspamd"},
    {"Authentication-Results-Original", "Exchange"},
    {"Original-Authentication-Results", "forwarders"},
    {"Old-Authentication-Results", "Courier"},
    {"X-Authentication-Results", "filters"},
    {"X-Original-Authentication-Results", "forwarders"},
    {"Received-SPF", "policyd-spf, Courier, Exim"},
    {"ARC-*", "OpenARC, rspamd"},
    {"DKIM-Filter", "OpenDKIM"},
    {"X-DKIM", "dkim-milter"},
    {"DMARC-Filter", "OpenDMARC"},
    {"X-Greylist", "postgrey, milter-greylist"},
    {"X-policyd-weight", "policyd-weight"},
    {"X-Spam", "rspamd"},
    {"X-Spam-*", "SpamAssassin, rspamd, Stalwart"},
    {"X-Spam_*", "Exim"},
    {"X-Spamd-*", "rspamd"},
    {"X-Rspamd-*", "rspamd"},
    {"X-Stat-Signature", "rspamd"},
    {"X-OS-Fingerprint", "rspamd"},
    {"Deliver-To", "rspamd"},
    {"X-Amavis-*", "amavis"},
    {"X-Quarantine-ID", "amavis"},
    {"X-Virus*", "ClamAV, amavis, rspamd"},
    {"X-AV-Checked", "clamsmtp"},
    {"X-Scanned-By", "MIMEDefang"},
    {"X-MailScanner*", "MailScanner"},
    {"X-Bogosity", "bogofilter"},
    {"X-CRM114-*", "crm114"},
    {"X-DSPAM-*", "dspam"},
    {"X-Spambayes-*", "SpamBayes"},
    {"X-SpamProbe", "spamprobe"},
    {"X-DCC-*", "DCC"},
    {"X-Pyzor", "pyzor"},
    {"X-Haraka-*", "Haraka"},
    {"X-Barracuda-*", "Barracuda"},
    {"X-ASG-*", "Barracuda"},
    {"X-BESS-*", "Barracuda"},
    {"X-Brightmail-Tracker", "Symantec, MessageLabs"},
    {"X-AuditID", "Symantec, MessageLabs"},
    {"X-Msg-Ref", "Symantec, MessageLabs"},
    {"X-Env-Sender", "Symantec, MessageLabs"},
    {"X-StarScan-*", "Symantec, MessageLabs"},
    {"X-IronPort-*", "Cisco (IronPort)"},
    {"IronPort-*", "Cisco (IronPort)"},
    {"X-Amp-*", "Cisco (IronPort)"},
    {"X-FE-*", "FortiMail"},
    {"X-FEAS-*", "FortiMail"},
    {"X-Halon-*", "Halon"},
    {"X-KLMS-*", "Kaspersky"},
    {"X-KSMG-*", "Kaspersky"},
    {"X-Mailprotector-*", "Mailprotector"},
    {"X-Mimecast-*", "Mimecast"},
    {"X-MC-Unique", "Mimecast"},
    {"X-Proofpoint-*", "Proofpoint"},
    {"X-Sophos-*", "Sophos"},
    {"X-PMX-*", "Sophos"},
    {"X-TM-*", "Trend Micro"},
    {"X-TMASE-*", "Trend Micro"},
    {"X-IMSS-*", "Trend Micro"},
};

static void sha256(const void *bytes, size_t size, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    gsize length = MESSAGE_DIGEST_SIZE;

    g_checksum_update(checksum, bytes, (gssize)size);
    g_checksum_get_digest(checksum, ret, &length);
    g_checksum_free(checksum);
}

/* Returns how many bytes counted. */
static size_t digest_of(const char *bytes, size_t size, size_t chunk, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    struct message_digest *digest = message_digest_new(ignore);

    for (size_t at = 0; at < size; at += chunk)
        message_digest_feed(digest, (const unsigned char *)bytes + at, size - at < chunk ? size - at : chunk);
    size_t counted = message_digest_end(digest, ret);
    message_digest_free(&digest);
    assert_null(digest);
    return counted;
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned char expected[MESSAGE_DIGEST_SIZE], digest[MESSAGE_DIGEST_SIZE];
        size_t size = strlen(cases[i].bytes);

        sha256(cases[i].counts, strlen(cases[i].counts), expected);
        for (size_t chunk = 1; chunk <= size + 1; chunk++) {
            size_t counted = digest_of(cases[i].bytes, size, chunk, digest);
            if (memcmp(digest, expected, sizeof(digest)) != 0 || counted != strlen(cases[i].counts))
                fail_msg("%s, chunks of %zu: another digest, or another size", cases[i].label, chunk);
        }
    }
}

static bool counts(const char *name)
{
    char *bytes OD_CLEANUP(base_free) = base_printf("%s: x\r\n y\r\n\r\n", name);
    unsigned char digest[MESSAGE_DIGEST_SIZE];
    size_t size = digest_of(bytes, strlen(bytes), 7, digest), unfolded = strlen(bytes) - strlen("\r\n");

    assert_true(size == strlen("\r\n") || size == unfolded);
    return size == unfolded;
}

/* Two copies of one message differ in these, added by any server. */
static void test_transport(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(transport); i++) {
        const char *name = transport[i].name;
        size_t length = strcspn(name, "*");
        char *longer OD_CLEANUP(base_free) = base_printf("%.*s1", (int)length, name);

        if (counts(name[length] == '*' ? longer : name))
            fail_msg("%s, by %s, counts", name, transport[i].by);
        if (name[length] != '*' && !counts(longer))
            fail_msg("%s does not count", longer);
    }
}

/* What authors, their programs and lists write. */
static void test_written(void **state)
{
    static const char *const names[] = {
        "From",
        "To",
        "Cc",
        "Bcc",
        "Reply-To",
        "Sender",
        "Subject",
        "Date",
        "Message-ID",
        "In-Reply-To",
        "References",
        "Comments",
        "Keywords",
        "Importance",
        "Priority",
        "X-Priority",
        "X-Mailer",
        "User-Agent",
        "Organization",
        "Content-Type",
        "Content-Disposition",
        "MIME-Version",
        "Resent-From",
        "Resent-To",
        "Resent-Date",
        "Resent-Message-ID",
        "List-Id",
        "List-Unsubscribe",
        "X-Mailman-Version",
        "DKIM-Signature",
        "DomainKey-Signature",
        "X-Google-DKIM-Signature",
        "X-Forwarded-Message-Id",
        "X-MC-Tags",
        "X-Gmail",
        "X-MS-Exchange-Calendar-Originator-Id",
        "X-Loop",
        "X-Comment",
        "X-Face",
        "X-MS-Has-Attach",
        "X-MS-Exchange-Calendar-Series-Id",
        "X-Delivery-Note",
        "X-Spammer",
        "X-Scanned",
        "X-Envelope",
        "Autocrypt",
        "Expires",
        "Reply-By",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++)
        if (!counts(names[i]))
            fail_msg("%s does not count", names[i]);
}

/* Ledgers contain these: the program has always computed them for such messages. */
static void test_recorded(void **state)
{
    static const struct {
        const char *bytes, *digest;
    } recorded[] = {
        {"From: a@b.example\r\n"
         "To: c@d.example\r\n"
         "Subject: hello\r\n"
         "Message-ID: <1@b.example>\r\n"
         "\r\n"
         "body\r\n",
         "bdc9e4fbb494021d97db984e3058b75df544072cdc673786b857ffaa251ece2d"},
        {"Return-Path: <a@b.example>\r\n"
         "Delivered-To: c@d.example\r\n"
         "Received: from x\r\n"
         "\tby y; Mon, 1 Jan 2024 00:00:00 +0000\r\n"
         "X-Spam-Status: No, score=0\r\n"
         "From: a@b.example\r\n"
         "Subject: hello\r\n"
         "\r\n"
         "body\r\n"
         "\r\n"
         ".\r\n",
         "cb1ecde3ce73b660a951ddc1706d08fd4d050c721695ab391fbed8f69eb3b01e"},
        {"Subject: no body\r\n", "8d3bafaf26b84cca6b8e3f68715fab96b9049ef5d168757fbff0992192a41194"},
        {"\r\n"
         "no header\r\n",
         "c3706aed4fe3638f6e0803155eec3af53a4218bf3c04901d66ecd963d2ddb771"},
        {"Subject: \u20ac\r\n"
         "ARC-Seal: i=1\r\n"
         "\r\n"
         "a\r\r\n"
         "b\rc\r\n",
         "cabf87ab960398e3b475bcf31c6a61c56d752fb757d6cbc68e72f1daf826f6f7"},
        {"X-Mine: 1\r\n"
         "X-Any-2: 2\r\n"
         " folded\r\n"
         "nonsense\r\n"
         "Date: Mon, 1 Jan 2024 00:00:00 +0000\r\n"
         "\r\n"
         "Received: in the body\r\n",
         "81d755cb8c8a7988753e8285f3fd735ac9c52fca488781e7bc7b3e7e4d35eda8"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(recorded); i++) {
        unsigned char digest[MESSAGE_DIGEST_SIZE];
        char hex[2 * MESSAGE_DIGEST_SIZE + 1];

        (void)digest_of(recorded[i].bytes, strlen(recorded[i].bytes), 17, digest);
        for (size_t k = 0; k < sizeof(digest); k++)
            snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        assert_string_equal(hex, recorded[i].digest);
    }
}

/* A plain version of the definition, for messages in memory. *ret_header is the header's size; the content is written
 * to out; returns its size. */
static bool matches(const char *pattern, const char *name, size_t size)
{
    size_t length = strcspn(pattern, "*");

    return (pattern[length] == '*' ? size >= length : size == length) && strncasecmp(name, pattern, length) == 0;
}

/* Returns the length of the name of a field; 0: the line is none. */
static size_t name_length(const char *line, const char *line_end)
{
    const char *end = memchr(line, ':', (size_t)(line_end - line));

    if (end == NULL)
        return 0;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    for (const char *at = line; at < end; at++)
        if (*at <= ' ' || *at == 127) /* also what has the eighth bit, char being signed */
            return 0;
    return (size_t)(end - line);
}

static bool is_left_out(const char *line, size_t length)
{
    for (size_t i = 0; i < COUNT(transport); i++)
        if (matches(transport[i].name, line, length))
            return true;
    for (const char *const *name = ignore; *name != NULL; name++)
        if (matches(*name, line, length))
            return true;
    return false;
}

static size_t reference(const char *bytes, size_t size, char *out, size_t *ret_header)
{
    const char *line = bytes, *end = bytes + size;
    bool left_out = false, ended = false;
    size_t kept = 0, n = 0, value = 0; /* where the field's value begins; 0: the lines before are no field */

    while (line < end && !ended) {
        const char *lf = memchr(line, '\n', (size_t)(end - line));
        const char *next = lf != NULL ? lf + 1 : end;

        ended = lf != NULL && strspn(line, "\r") == (size_t)(lf - line);
        if (*line != ' ' && *line != '\t') {
            size_t length = ended ? 0 : name_length(line, next);

            left_out = is_left_out(line, length);
            value = length > 0 && !left_out ? kept + strcspn(line, ":") + 1 : 0;
        } else if (value > 0) {
            while (kept > value && strchr(" \t\r\n", out[kept - 1]) != NULL)
                kept--;
            out[kept++] = ' ';
            line += strspn(line, " \t");
        }
        for (; line < next; line++)
            if (!left_out)
                out[kept++] = *line;
    }
    *ret_header = (size_t)(line - bytes);
    while (line < end)
        out[kept++] = *line++;
    for (size_t at = 0; at < kept;) {
        size_t run = 0;

        while (at + run < kept && out[at + run] == '\r')
            run++;
        if (at + run == kept)
            break;
        for (size_t i = out[at + run] == '\n' && run > 0 ? run - 1 : 0; i < run; i++)
            out[n++] = '\r';
        at += run;
        out[n++] = out[at++];
    }
    return n;
}

/* Digest, header and fields agree with the definition, wherever the bytes are cut. */
static void compare(const char *label, const char *bytes, size_t size, size_t chunk)
{
    char *counts OD_CLEANUP(base_free) = base_alloc(size + 1);
    unsigned char expected[MESSAGE_DIGEST_SIZE], digest[MESSAGE_DIGEST_SIZE];
    const unsigned char *start = (const unsigned char *)bytes, *at = start;
    struct message_field field;
    size_t header, n = reference(bytes, size, counts, &header);

    sha256(counts, n, expected);
    if (digest_of(bytes, size, chunk, digest) != n || memcmp(digest, expected, sizeof(digest)) != 0)
        fail_msg("%s, %zu bytes in chunks of %zu: another digest, or another size", label, size, chunk);
    if (message_field_header_size(start, size) != header)
        fail_msg("%s, %zu bytes: the header ends elsewhere", label, size);
    while (message_field_next(&at, start + size, &field))
        continue;
    if (at < start + header && strspn((const char *)at, "\r") + 1 != header - (size_t)(at - start))
        fail_msg("%s, %zu bytes: the fields end elsewhere", label, size);
}

/* Any number of CRs before the LF that ends the header: what looks like a field after it is content. */
static void test_carriage_returns(void **state)
{
    (void)state;
    for (size_t count = 0; count <= 300; count++) {
        size_t size;
        char *one OD_CLEANUP(base_free) = repeated("A: b\r\n", "\r", count, "\nReceived: money\r\n", &size);
        char *other OD_CLEANUP(base_free) = repeated("A: b\r\n", "\r", count, "\nReceived: letter\r\n", &size);
        unsigned char digests[2][MESSAGE_DIGEST_SIZE];

        for (size_t chunk = 1; chunk <= count + 8; chunk += 1 + count / 7)
            compare("CR", one, strlen(one), chunk);
        (void)digest_of(one, strlen(one), 64, digests[0]);
        (void)digest_of(other, strlen(other), 64, digests[1]);
        assert_memory_not_equal(digests[0], digests[1], MESSAGE_DIGEST_SIZE);

        struct message *message = message_of(one, strlen(one));
        assert_int_equal(message->size - message->header_size, strlen("Received: money\r\n"));
        message_free(&message);
    }
}

/* Names of any length: left out by a pattern; content if followed by blanks or by no colon, or if the pattern has no
 * *. */
static void test_long_names(void **state)
{
    static const struct {
        const char *before, *unit, *after;
        bool left_out;
    } shapes[] = {
        {"X-Spam-", "a", ": x\r\n\r\n", true},      {"x-any-", "b", ":\r\n\r\n", true},
        {"Received", " ", ": x\r\n\r\n", true},     {"X-Mine", "\t", ": x\r\n y\r\n\r\n", true},
        {"X-Spam-", "a", " \t: x\r\n\r\n", true},   {"X-Spam-", "a", "\r\n\r\n", false},
        {"X-Spam-", "a", " b: x\r\n\r\n", false},   {"X-Spam", "a", ": x\r\n\r\n", false},
        {"Received", "a", ": x\r\n\r\n", false},    {"Received", " ", "x: x\r\n\r\n", false},
        {"X-Spam-", "a", "\x80: x\r\n\r\n", false}, {"X-Spam-", "a", "\r: x\r\n\r\n", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        for (size_t count = 1; count <= 1100; count += count < 140 ? 1 : 37) {
            size_t size;
            char *bytes OD_CLEANUP(base_free) =
                repeated(shapes[i].before, shapes[i].unit, count, shapes[i].after, &size);
            unsigned char digest[MESSAGE_DIGEST_SIZE];

            compare(shapes[i].before, bytes, size, size);
            compare(shapes[i].before, bytes, size, 1 + count % 129);
            compare(shapes[i].before, bytes, size, 1);
            assert_int_equal(digest_of(bytes, size, 50, digest) == 2, shapes[i].left_out);
        }
    }
}

/* A name longer than the part held back, cut by the end, is content. */
static void test_long_name_cut(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 300; count++) {
        size_t size;
        char *bytes OD_CLEANUP(base_free) = repeated("A: b\r\nX-Spam-", "a", count, "", &size);

        compare("cut", bytes, size, 100);
    }
}

/* A setting may name a field longer than those we know. */
static void test_long_patterns(void **state)
{
    size_t size;
    char *exact OD_CLEANUP(base_free) = repeated("X-", "b", 400, "", &size);
    char *any OD_CLEANUP(base_free) = repeated("Y-", "b", 400, "*", &size);
    char *bytes OD_CLEANUP(base_free) = repeated("", "", 0, "", &size);
    const char *const patterns[] = {exact, any, NULL};
    struct message_digest *digest = message_digest_new(patterns);
    unsigned char ret[MESSAGE_DIGEST_SIZE];

    (void)state;
    base_free(&bytes);
    bytes = base_printf("%s : 1\r\n%sb: 2\r\n%.*sc: 3\r\n%.*s: 4\r\n\r\n", exact, exact, (int)strlen(any) - 1, any,
                        (int)strlen(any) - 2, any);
    message_digest_feed(digest, (unsigned char *)bytes, strlen(bytes));
    assert_int_equal(message_digest_end(digest, ret),
                     strlen(exact) + strlen("b: 2\r\n") + strlen(any) - 2 + strlen(": 4\r\n") + strlen("\r\n"));
    message_digest_free(&digest);
}

/* Messages made of the relevant pieces in any order, cut anywhere. */
static void test_any(void **state)
{
    static const char *const pieces[] = {"Received",    "received",
                                         "X-Spam-",     "X-Mine",
                                         "x-any-",      "ARC-",
                                         ":",           ": x\r\n",
                                         " ",           "\t",
                                         "\r",          "\n",
                                         "\r\n",        "\r\n\r\n",
                                         "\r\n ",       "a",
                                         "A: b\r\n",    "\x80",
                                         "\x01",        "\x7f",
                                         "Return-Path", "Delivered-To: z\r\n"};
    uint64_t random = 20240229;

    (void)state;
    for (size_t round = 0; round < 30000; round++) {
        char bytes[4096];
        size_t size = 0, count = next_random(&random) % 24;

        for (size_t i = 0; i < count; i++) {
            const char *piece = pieces[next_random(&random) % COUNT(pieces)];
            /* here and there as often as what is held back is long, or a bit less or more */
            size_t times = strlen(piece) == 1 && next_random(&random) % 20 == 0 ? 120 + next_random(&random) % 20 : 1;

            for (size_t k = 0; k < times && size + strlen(piece) < sizeof(bytes); k++, size += strlen(piece))
                memcpy(bytes + size, piece, strlen(piece));
        }
        bytes[size] = '\0';
        compare("any", bytes, size, 1 + next_random(&random) % 150);
    }
}

static void test_large_headers(void **state)
{
    size_t size;
    unsigned char expected[MESSAGE_DIGEST_SIZE], digest[MESSAGE_DIGEST_SIZE];
    char *fields OD_CLEANUP(base_free) = repeated("", "Received: x\r\n", 300000, "\r\nbody\r\n", &size);

    (void)state;
    sha256("\r\nbody\r\n", 8, expected);
    (void)digest_of(fields, size, 65536, digest);
    assert_memory_equal(digest, expected, sizeof(digest));

    char *lines OD_CLEANUP(base_free) = repeated("Received: x\r\n", " y\r\n", 1000000, "\r\nbody\r\n", &size);

    (void)digest_of(lines, size, 65536, digest);
    assert_memory_equal(digest, expected, sizeof(digest));

    char *carriages OD_CLEANUP(base_free) = repeated("", "\r", 4000000, "\n", &size);

    (void)digest_of(carriages, size, 65536, digest);
    sha256("\r\n", 2, expected);
    assert_memory_equal(digest, expected, sizeof(digest));
}

/* The same message received another way, or returned by a server. */
static void test_same_content(void **state)
{
    static const char one[] = "From x\nReturn-Path: <>\nReceived: by one\n\tat noon\nSubject: s\n\nbody\0\n";
    static const char fetched[] = "Delivered-To: y\r\nSubject: s\r\nReceived: by two\r\n\r\nbody\x80\r\n";
    static const char other[] = "Subject: s\r\n\r\nBody\x80\r\n";
    static const char mine[] = "X-Mine: 1\r\nSubject: s\r\n\r\nbody\x80\r\n";
    struct message *message = message_of(one, sizeof(one) - 1);

    (void)state;
    assert_true(is_same(message_comparison_new(message, NULL), fetched, sizeof(fetched) - 1));
    assert_false(is_same(message_comparison_new(message, NULL), other, sizeof(other) - 1));
    assert_false(is_same(message_comparison_new(message, NULL), fetched, sizeof(fetched) - 2));
    assert_false(is_same(message_comparison_new(message, NULL), "", 0));
    assert_false(is_same(message_comparison_new(message, NULL), mine, sizeof(mine) - 1));
    assert_true(is_same(message_comparison_new(message, ignore), mine, sizeof(mine) - 1));
    message_free(&message);
}

/* A relay may fold a header again, wherever there is a blank; but white space elsewhere, and the order and number of words and
 * fields, are content. */
static void test_folded_anew(void **state)
{
    static const char header[] =
        "Message-ID: <1@a.example> (a)\r\nSubject: a longer subject\r\nTo: a@b, c@d\r\n\r\n a b\r\n";
    static const char *const folds[] = {"\r\n ", "\r\n\t", " \r\n ", "\r\n        ", "\r\n \r\n\t", "\n\t"};
    static const char *const others[] = {"", "  ", "\t", "\r\n", "\r ", "\r\n\r\n ", " x\r\n "};
    unsigned char expected[MESSAGE_DIGEST_SIZE], digest[MESSAGE_DIGEST_SIZE];
    const char *body = strstr(header, "\r\n\r\n");

    (void)state;
    (void)digest_of(header, sizeof(header) - 1, 1, expected);
    for (const char *at = strchr(header, ' '); at != NULL; at = strchr(at + 1, ' ')) {
        for (size_t i = 0; i < COUNT(folds) + COUNT(others); i++) {
            bool fold = i < COUNT(folds);
            char *bytes OD_CLEANUP(base_free) =
                base_printf("%.*s%s%s", (int)(at - header), header, fold ? folds[i] : others[i - COUNT(folds)], at + 1);
            (void)digest_of(bytes, strlen(bytes), 1 + i, digest);
            if ((memcmp(digest, expected, sizeof(digest)) == 0) != (fold && at < body))
                fail_msg("%s", bytes);
        }
    }
}

static void test_identity(void **state)
{
    unsigned char identity[MESSAGE_DIGEST_SIZE], expected[MESSAGE_DIGEST_SIZE];
    static const unsigned char high[MESSAGE_DIGEST_SIZE] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x55};
    static const unsigned char order[MESSAGE_DIGEST_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

    (void)state;
    message_identity("oncedrop", BYTES("a\0b@c"), identity);
    sha256(BYTES("oncedrop\0a\0b@c"), expected);
    assert_memory_equal(identity, expected, sizeof(identity));
    assert_int_equal(message_lock_key(high), -2);
    assert_int_equal(message_lock_key(order), INT64_C(0x0102030405060708));

    /* by `printf 'oncedrop\0a@b' | sha256sum`: other hosts and later versions must come to the same */
    message_identity("oncedrop", BYTES("a@b"), identity);
    assert_int_equal(message_lock_key(identity), INT64_C(-5294376567594498112));
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_transport),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_carriage_returns),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_long_name_cut),
        cmocka_unit_test(test_long_patterns),
        cmocka_unit_test(test_any),
        cmocka_unit_test(test_large_headers),
        cmocka_unit_test(test_same_content),
        cmocka_unit_test(test_folded_anew),
        cmocka_unit_test(test_identity),
    };
    return cmocka_run_group_tests_name("message_digest", tests, NULL, NULL);
}
