/* SPDX-License-Identifier: ISC */
#include "decode/decode.h"

#include <glib.h>
#include <string.h>

#define TEXT_MAX 500 /* characters of a stranger's text */
#define WORD_MAX 45  /* bytes in an encoded word of 75 characters (RFC 2047, 2) */
#define CHUNK_SIZE ((size_t)48 * 1024)

char *notice_id(const char *namespace, const struct message *message)
{
    unsigned char identity[MESSAGE_DIGEST_SIZE];
    char digest[2 * MESSAGE_DIGEST_SIZE + 1], hash[2 * MESSAGE_DIGEST_SIZE + 1];
    base_hex(message->digest, MESSAGE_DIGEST_SIZE, digest);
    char *what OD_CLEANUP(base_free) = base_printf("explanation %s", digest);
    message_identity(namespace, what, strlen(what), identity);
    base_hex(identity, MESSAGE_DIGEST_SIZE, hash);
    return base_printf("quarantine.%s@oncedrop.invalid", hash);
}

/* Returns a new string: UTF-8, cut at TEXT_MAX. */
static char *one_line(const char *text)
{
    GString *line = g_string_new(NULL);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    const char *at = valid;
    for (size_t i = 0; *at != '\0' && i < TEXT_MAX; i++, at += g_utf8_skip[(unsigned char)*at])
        g_string_append_unichar(line, g_unichar_iscntrl(g_utf8_get_char(at)) ? ' ' : g_utf8_get_char(at));
    if (*at != '\0')
        g_string_append(line, "...");
    return g_string_free(line, FALSE);
}

static void add_encoded(GString *out, const char *text)
{
    while (*text != '\0') {
        size_t size = 0;
        for (size_t next; text[size] != '\0'; size = next) {
            next = size + (size_t)g_utf8_skip[(unsigned char)text[size]];
            if (next > WORD_MAX)
                break;
        }
        g_autofree char *encoded = g_base64_encode((const guchar *)text, size);
        g_string_append_printf(out, "\n =?utf-8?B?%s?=", encoded);
        text += size;
    }
}

#define ATOMS "[\\w!#$%&'*+/=?^`{|}~.-]+"

/* True: needs no quoting; others are omitted. */
static bool is_plain_address(const char *address)
{
    return strlen(address) <= 320 && g_regex_match_simple("^" ATOMS "@" ATOMS "\\z", address, G_REGEX_RAW, 0);
}

/* RFC 5891; "localhost" for an invalid domain. */
static char *ascii_domain(const char *domain)
{
    g_autofree char *ascii = domain != NULL ? g_hostname_to_ascii(domain) : NULL;
    bool good = ascii != NULL && strlen(ascii) <= 255 && g_regex_match_simple("^[\\w.-]+\\z", ascii, G_REGEX_RAW, 0);
    return base_strdup(good ? ascii : "localhost");
}

static void add_header(GString *out, const struct notice *it)
{
    char *domain OD_CLEANUP(base_free) = ascii_domain(it->domain);
    g_autoptr(GDateTime) at = g_date_time_new_from_unix_utc(it->date);
    g_autofree char *date = at != NULL ? g_date_time_format(at, "%a, %-d %b %Y %T +0000") : NULL; /* LC_TIME is C */
    g_string_append_printf(out, "From: oncedrop <postmaster@%s>\n", domain);
    if (it->to != NULL && is_plain_address(it->to))
        g_string_append_printf(out, "To: <%s>\n", it->to);
    g_string_append(out, "Subject: Quarantined:");
    char *subject OD_CLEANUP(base_free) = one_line(it->decoded->subject != NULL ? it->decoded->subject : "");
    if (subject[0] != '\0')
        add_encoded(out, subject);
    g_string_append_printf(out,
                           "\nDate: %s\nMessage-ID: <%s>\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
                           "Content-Type: multipart/mixed; boundary=\"%s\"\n\n",
                           date != NULL ? date : "Thu, 1 Jan 1970 00:00:00 +0000", it->id, NOTICE_BOUNDARY);
}

static void add_about(GString *out, const char *what, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    char *line OD_CLEANUP(base_free) = one_line(text);
    g_string_append_printf(out, "    %s: %s\n", what, line);
}

static void add_addresses(GString *out, const char *what, const struct decoded *decoded, const char *role,
                          const char *otherwise)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (size_t i = 0; i < decoded->address_count; i++) {
        const struct decoded_address *it = &decoded->addresses[i];
        if (strcmp(it->role, role) == 0)
            g_string_append_printf(list, it->name != NULL ? "%s%s <%s>" : "%s%s%s", list->len > 0 ? ", " : "",
                                   it->name != NULL ? it->name : "", it->address);
    }
    add_about(out, what, list->len > 0 ? list->str : otherwise);
}

static char *plain_text(const struct notice *it)
{
    GString *text = g_string_new(
        "The mail server refused to store a message that came for this mailbox, because of its\n"
        "content. Nothing is lost: the message is attached, unchanged, as message.eml.\n\n");
    char *id OD_CLEANUP(base_free) =
        it->message->message_id != NULL
            ? g_utf8_make_valid(it->message->message_id, (gssize)it->message->message_id_length)
            : NULL;
    char *to OD_CLEANUP(base_free) = message_header(it->message, "To");
    char *date OD_CLEANUP(base_free) = message_header(it->message, "Date");
    add_addresses(text, "From", it->decoded, "from", it->decoded->from);
    add_addresses(text, "To", it->decoded, "to", to);
    add_about(text, "Subject", it->decoded->subject);
    add_about(text, "Date", date);
    add_about(text, "Message-ID", id);
    add_about(text, "Envelope sender", it->sender[0] != '\0' ? it->sender : "<>");
    g_string_append(text, "\nThe server's answer:\n\n");
    char *reply OD_CLEANUP(base_free) = one_line(it->reply);
    g_string_append_printf(text, "    %s\n", reply);
    g_string_append(text,
                    "\nTo read the message, open the attachment, or save it and open it with a mail program.\n"
                    "Damaged messages are often unsolicited: be careful with what you did not expect.\n"
                    "If you know the sender, please write to them that their program writes messages with mistakes.\n\n"
                    "For the administrator: the message is recorded under its Message-ID (oncedrop show).\n"
                    "Explanations like this one are made because of delivery.refused = quarantine.\n");
    return g_string_free(text, FALSE);
}

/* ASCII stays unchanged, readable in the mailbox's file; else base64, which every server accepts. */
static void add_text(GString *out, const struct notice *it)
{
    char *text OD_CLEANUP(base_free) = plain_text(it);
    bool ascii = g_str_is_ascii(text);
    g_string_append_printf(out, "--%s\nContent-Type: text/plain; charset=%s\nContent-Transfer-Encoding: %s\n\n",
                           NOTICE_BOUNDARY, ascii ? "us-ascii" : "utf-8", ascii ? "7bit" : "base64");
    if (ascii) {
        g_string_append(out, text);
        return;
    }
    g_autofree char *encoded = g_base64_encode((const guchar *)text, strlen(text));
    for (size_t at = 0, size = strlen(encoded); at < size; at += 76)
        g_string_append_printf(out, "%.76s\n", encoded + at);
}

static bool feed_text(struct message_builder *builder, const struct notice *it, struct error *error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    add_header(text, it);
    add_text(text, it);
    g_string_append_printf(text,
                           "\n--%s\nContent-Type: application/octet-stream; name=\"message.eml\"\n"
                           "Content-Transfer-Encoding: base64\n"
                           "Content-Disposition: attachment; filename=\"message.eml\"\n\n",
                           NOTICE_BOUNDARY);
    return message_builder_feed(builder, text->str, text->len, error);
}

static bool feed_attachment(struct message_builder *builder, const struct notice *it, struct error *error)
{
    size_t count, size;
    gint state = 0, save = 0;
    struct iovec *pieces OD_CLEANUP(base_free) = message_pieces(it->message, it->fields, &count, &size);
    char *encoded OD_CLEANUP(base_free) = base_alloc(CHUNK_SIZE * 2);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = pieces[i].iov_base, *end = at + pieces[i].iov_len;
        while (at < end) {
            size_t n = (size_t)(end - at) < CHUNK_SIZE ? (size_t)(end - at) : CHUNK_SIZE;
            size_t length = g_base64_encode_step(at, n, TRUE, encoded, &state, &save);
            if (!message_builder_feed(builder, encoded, length, error))
                return false;
            at += n;
        }
    }
    return message_builder_feed(builder, encoded, g_base64_encode_close(TRUE, encoded, &state, &save), error);
}

struct message *notice_make(const struct notice *notice, struct error *error)
{
    static const char end[] = "--" NOTICE_BOUNDARY "--\n";
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(0, NULL);
    struct message *message = NULL;
    message_builder_no_from_line(builder);
    if (feed_text(builder, notice, error) && feed_attachment(builder, notice, error) &&
        message_builder_feed(builder, end, sizeof(end) - 1, error))
        (void)!message_builder_end(builder, &message, error);
    return message;
}
