/* SPDX-License-Identifier: ISC
 *
 * The message as it is appended and its content digest, compared with a reference that has all bytes at once. And the
 * same digest for input with other line ends, cut differently, or returned by a server that drops CRs. */
#include "fuzz.h"

#include <glib.h>

#include "message/message.h"
#include "message/message_internal.h"

static const char *const ignored[] = {"X-Scanned-By", "X-Filter-*", NULL};

/* Line ends become CRLF, NUL 0x80, a From_ line is removed. */
static GString *reference_bytes(const char *in, size_t size)
{
    GString *out = g_string_new(NULL);
    const char *end = in + size;

    if ((size >= 5 && memcmp(in, "From ", 5) == 0) || (size >= 6 && memcmp(in, ">From ", 6) == 0)) {
        const char *lf = memchr(in, '\n', size);

        in = lf != NULL ? lf + 1 : end;
    }
    for (const char *at = in; at < end; at++) {
        if (*at == '\n' && (at == in || at[-1] != '\r'))
            g_string_append_c(out, '\r');
        g_string_append_c(out, *at == '\0' ? '\x80' : *at);
    }
    return out;
}

/* Returns the length of the name of a field; 0: the line is none. */
static size_t name_size(const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);
    size_t size = colon != NULL ? (size_t)(colon - line) : 0;

    while (size > 0 && (line[size - 1] == ' ' || line[size - 1] == '\t'))
        size--;
    for (size_t i = 0; i < size; i++)
        if (line[i] <= ' ' || line[i] > '~')
            return 0;
    return size;
}

static bool is_left_out(const char *line, size_t size)
{
    static const char *const names[] = {
        "return-path",
        "received",
        "delivered-to",
        "x-original-to",
        "envelope-to",
        "delivery-date",
        "x-host-lookup-failed",
        "x-envelope-from",
        "x-envelope-to",
        "x-authentication-warning",
        "x-sieve",
        "x-cyrus-session-id",
        "x-ms-exchange-skiplistedinternetsender",
        "x-ms-traffictypediagnostic",
        "x-ms-publictraffictype",
        "x-eopattributedmessage",
        "x-eoptenantattributedmessage",
        "x-originalarrivaltime",
        "x-received",
        "x-google-smtp-source",
        "x-forwarded-encrypted",
        "x-forwarded-to",
        "x-forwarded-for",
        "authentication-results",
        "authentication-results-original",
        "original-authentication-results",
        "old-authentication-results",
        "x-authentication-results",
        "x-original-authentication-results",
        "received-spf",
        "dkim-filter",
        "x-dkim",
        "dmarc-filter",
        "x-greylist",
        "x-policyd-weight",
        "x-spam",
        "x-stat-signature",
        "x-os-fingerprint",
        "deliver-to",
        "x-quarantine-id",
        "x-av-checked",
        "x-scanned-by",
        "x-bogosity",
        "x-spamprobe",
        "x-pyzor",
        "x-brightmail-tracker",
        "x-auditid",
        "x-msg-ref",
        "x-env-sender",
        "x-mc-unique",
        NULL,
    };
    static const char *const beginnings[] = {
        "x-getmail-",
        "x-stalwart-",
        "x-ms-exchange-organization-",
        "x-ms-exchange-crosstenant-",
        "x-ms-exchange-transport-",
        "x-ms-exchange-antispam-",
        "x-ms-office365-filtering-",
        "x-microsoft-antispam",
        "x-forefront-antispam-report",
        "x-exchange-antispam-report",
        "x-gm-",
        "x-ses-",
        "arc-",
        "x-spam-",
        "x-spam_",
        "x-spamd-",
        "x-rspamd-",
        "x-amavis-",
        "x-virus",
        "x-mailscanner",
        "x-crm114-",
        "x-dspam-",
        "x-spambayes-",
        "x-dcc-",
        "x-haraka-",
        "x-barracuda-",
        "x-asg-",
        "x-bess-",
        "x-starscan-",
        "x-ironport-",
        "ironport-",
        "x-amp-",
        "x-fe-",
        "x-feas-",
        "x-halon-",
        "x-klms-",
        "x-ksmg-",
        "x-mailprotector-",
        "x-mimecast-",
        "x-proofpoint-",
        "x-sophos-",
        "x-pmx-",
        "x-tm-",
        "x-tmase-",
        "x-imss-",
        "x-filter-",
        NULL,
    };
    for (const char *const *name = names; *name != NULL; name++)
        if (size == strlen(*name) && g_ascii_strncasecmp(line, *name, size) == 0)
            return true;
    for (const char *const *name = beginnings; *name != NULL; name++)
        if (size >= strlen(*name) && g_ascii_strncasecmp(line, *name, strlen(*name)) == 0)
            return true;
    return false;
}

static bool is_empty_line(const char *line, size_t length)
{
    size_t crs = 0;

    while (crs < length && line[crs] == '\r')
        crs++;
    return crs + 1 == length && line[crs] == '\n';
}

/* Makes a blank of the white space around a fold in a value. Returns how many of the next line's bytes belong to it. */
static size_t unfold(GString *kept, size_t value, const char *line, size_t length)
{
    size_t blanks = 0;

    while (kept->len > value && strchr(" \t\r\n", kept->str[kept->len - 1]) != NULL)
        g_string_truncate(kept, kept->len - 1);
    g_string_append_c(kept, ' ');
    while (blanks < length && (line[blanks] == ' ' || line[blanks] == '\t'))
        blanks++;
    return blanks;
}

/* What counts of the appended bytes: without the fields that are left out; fields unfolded; of several CRs before an LF
 * only one, at the end none. */
static GString *reference_content(const GString *bytes)
{
    GString *kept = g_string_new(NULL), *content = g_string_new(NULL);
    bool left_out = false, in_header = true;
    size_t crs = 0, value = 0; /* where the field's value begins; 0: the lines before are no field */

    for (size_t at = 0, length; at < bytes->len; at += length) {
        const char *line = bytes->str + at;
        const char *lf = memchr(line, '\n', bytes->len - at);

        size_t skipped = 0;

        length = lf != NULL ? (size_t)(lf + 1 - line) : bytes->len - at;
        if (in_header && is_empty_line(line, length)) {
            in_header = left_out = false;
        } else if (in_header && line[0] != ' ' && line[0] != '\t') {
            size_t name = name_size(line, length);

            left_out = is_left_out(line, name);
            value = name > 0 ? kept->len + (size_t)((const char *)memchr(line, ':', length) + 1 - line) : 0;
        } else if (in_header && value > 0 && !left_out) {
            skipped = unfold(kept, value, line, length);
        }
        if (!left_out)
            g_string_append_len(kept, line + skipped, (gssize)(length - skipped));
    }
    for (size_t at = 0; at < kept->len; at++) {
        if (kept->str[at] == '\r') {
            crs++;
            continue;
        }
        for (crs = kept->str[at] == '\n' && crs > 1 ? 1 : crs; crs > 0; crs--)
            g_string_append_c(content, '\r');
        g_string_append_c(content, kept->str[at]);
    }
    g_string_free(kept, TRUE);
    return content;
}

static struct message *build(const char *bytes, size_t size, struct fuzz_cuts cuts)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(0, ignored);
    struct message *message = NULL;
    struct error error;

    for (size_t at = 0, length; at < size; at += length) {
        length = fuzz_cut(&cuts, size - at);
        FUZZ_CHECK(message_builder_feed(builder, bytes + at, length, &error));
    }
    return message_builder_end(builder, &message, &error) == MESSAGE_OK ? message : NULL;
}

static void check_digest(const struct message *message, const GString *content)
{
    GChecksum *sha256 = g_checksum_new(G_CHECKSUM_SHA256);
    unsigned char digest[MESSAGE_DIGEST_SIZE];
    gsize size = sizeof(digest);

    g_checksum_update(sha256, (const guchar *)content->str, (gssize)content->len);
    g_checksum_get_digest(sha256, digest, &size);
    g_checksum_free(sha256);
    FUZZ_CHECK(message->content_size == content->len);
    FUZZ_CHECK(memcmp(message->digest, digest, sizeof(digest)) == 0);
}

/* The bytes with only one CR, or none, before each LF. */
static GString *with_crs(const struct message *message, bool one)
{
    GString *out = g_string_new(NULL);

    for (size_t at = 0; at < message->size; at++) {
        if (message->data[at] == '\n') {
            while (out->len > 0 && out->str[out->len - 1] == '\r')
                g_string_truncate(out, out->len - 1);
            g_string_append(out, one ? "\r" : "");
        }
        g_string_append_c(out, (char)message->data[at]);
    }
    return out;
}

static enum message_likeness compared(struct message_comparison *comparison, const GString *bytes,
                                      struct fuzz_cuts cuts)
{
    for (size_t at = 0, length; at < bytes->len; at += length) {
        length = fuzz_cut(&cuts, bytes->len - at);
        message_comparison_feed(comparison, bytes->str + at, length);
    }
    return message_comparison_end(comparison);
}

/* Candidates of a search: as returned by servers that drop CRs; that drop all of them and end the last line; or that put X
 * for header bytes beyond ASCII. And a different message. */
static void check_likeness(const struct message *message, const GString *stored, const GString *unix_form,
                           struct fuzz_cuts cuts)
{
    struct message_comparison *comparison OD_CLEANUP(message_comparison_free) =
        message_comparison_new(message, ignored);
    GString *changed = g_string_new_len((const char *)message->data, (gssize)message->size);

    FUZZ_CHECK(compared(comparison, changed, cuts) == MESSAGE_SAME);
    FUZZ_CHECK(compared(comparison, stored, cuts) == MESSAGE_SAME);
    g_string_truncate(changed, 0);
    g_string_append_len(changed, unix_form->str, (gssize)unix_form->len);
    g_string_append(changed, "\nanother");
    if (message->header_size < message->size) /* else it may be one more line of a field that is left out */
        FUZZ_CHECK(compared(comparison, changed, cuts) == MESSAGE_OTHER);
    g_string_truncate(changed, unix_form->len);
    g_string_append_c(changed, '\n');
    FUZZ_CHECK(compared(comparison, changed, cuts) != MESSAGE_OTHER);
    g_string_assign(changed, "");
    for (size_t at = 0; at < message->size; at++)
        g_string_append_c(changed,
                          at < message->header_size && message->data[at] >= 0x80 ? 'X' : (char)message->data[at]);
    FUZZ_CHECK(compared(comparison, changed, cuts) != MESSAGE_OTHER);
    FUZZ_CHECK(compared(comparison, stored, cuts) == MESSAGE_SAME);
    g_string_free(changed, TRUE);
}

/* Copies as returned by a server that drops CRs, and as received another way with other line ends. */
static void check_copies(const struct message *message, struct fuzz_cuts cuts)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(0, ignored);
    struct message *again OD_CLEANUP(message_free) = NULL;
    GString *stored = with_crs(message, true), *unix_form = with_crs(message, false);
    struct error error;

    message_builder_no_from_line(builder);
    FUZZ_CHECK(message_builder_feed(builder, unix_form->str, unix_form->len, &error));
    FUZZ_CHECK(message_builder_end(builder, &again, &error) == MESSAGE_OK);
    FUZZ_CHECK(memcmp(again->digest, message->digest, sizeof(again->digest)) == 0);
    check_likeness(message, stored, unix_form, cuts);
    g_string_free(stored, TRUE);
    g_string_free(unix_form, TRUE);
}

int LLVMFuzzerTestOneInput(const uint8_t *input_bytes, size_t input_size)
{
    struct fuzz_input input = {input_bytes, input_size};
    struct fuzz_cuts cuts = fuzz_cuts(&input);
    const char *bytes = (const char *)input.bytes;
    struct message *message OD_CLEANUP(message_free) = build(bytes, input.size, cuts);
    GString *appended = reference_bytes(bytes, input.size), *content = reference_content(appended);

    FUZZ_CHECK((message != NULL) == (appended->len > 0));
    if (message != NULL) {
        FUZZ_CHECK(message->received_size == input.size);
        FUZZ_CHECK(message->size == appended->len && memcmp(message->data, appended->str, appended->len) == 0);
        check_digest(message, content);
        check_copies(message, cuts);
    }
    g_string_free(appended, TRUE);
    g_string_free(content, TRUE);
    return 0;
}
