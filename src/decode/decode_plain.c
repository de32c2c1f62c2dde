/* SPDX-License-Identifier: ISC */
#include "decode/decode_internal.h"

#include <string.h>

#define BYTES_MAX ((size_t)1 << 16)
#define HEADER_MAX ((size_t)1 << 14) /* no longer than gmime's longest piece */
#define PHRASE_MAX 200
#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* Returns true if there is only printable ASCII, tabs and CRLF. */
static bool is_ascii(struct decode_span span)
{
    for (const unsigned char *at = span.start; at < span.end; at++) {
        if (*at == '\r' && span.end - at > 1 && at[1] == '\n')
            at++;
        else if ((*at < ' ' || *at > '~') && *at != '\t')
            return false;
    }
    return true;
}

static bool has_fields_only(struct decode_span header)
{
    const unsigned char *at = header.start;
    struct message_field field;

    while (message_field_next(&at, header.end, &field))
        if (field.name_length == 0)
            return false;
    return true;
}

/* Returns true if there are no encoded words, tabs or folds. */
static bool is_verbatim(const char *value)
{
    return strstr(value, "=?") == NULL && strpbrk(value, "\t\r\n") == NULL;
}

static bool read_subject(struct decode_span header, struct decoded *decoded)
{
    char *value OD_CLEANUP(base_free) = decode_field(header, "Subject", HEADER_MAX);

    if (value == NULL || *value == '\0')
        return true;
    decoded->subject = g_steal_pointer(&value);
    return is_verbatim(decoded->subject);
}

/* A decode_phrase: words with single blanks between them, or quoted text. Sets *plain (bool) to false for others. */
static char *plain_phrase(void *plain, const char *text)
{
    char *phrase OD_CLEANUP(base_free) = g_strstrip(base_strdup(text));
    size_t length = strlen(phrase);
    bool quoted = length > 2 && phrase[0] == '"' && phrase[length - 1] == '"';
    bool simple = length <= PHRASE_MAX && is_verbatim(phrase);

    if (quoted)
        simple = simple && strcspn(phrase + 1, "\"\\") == length - 2 && phrase[1] != ' ' && phrase[length - 2] != ' ';
    else
        simple = simple && strspn(phrase, ALPHANUMERIC "'- ") == length && strstr(phrase, "  ") == NULL;
    *(bool *)plain &= simple;
    return simple && length > 0 ? base_strndup(phrase + quoted, length - (quoted ? 2 : 0)) : NULL;
}

/* Decoding A-labels (RFC 5890) is left to the child. */
static bool has_a_label(const char *value)
{
    return strcasestr(value, "xn--") != NULL;
}

static bool read_mailboxes(struct decode_span header, struct decoded *decoded)
{
    bool plain = true;

    for (const char *const *role = decoded_roles; plain && *role != NULL; role++) {
        char *value OD_CLEANUP(base_free) = decode_field(header, *role, HEADER_MAX);

        plain = value == NULL || !has_a_label(value);
        if (plain && value != NULL)
            decode_addresses(decoded, *role, value, plain_phrase, &plain);
    }
    return plain;
}

static bool read_from(struct decode_span header, struct decoded *decoded)
{
    char *value OD_CLEANUP(base_free) = decode_field(header, "From", HEADER_MAX);
    bool plain = value == NULL || !has_a_label(value);

    if (plain && value != NULL)
        decoded->from = decode_first_address(value, plain_phrase, &plain);
    return plain;
}

static bool is_one_of(const char *word, size_t length, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == length && g_ascii_strncasecmp(word, *words, length) == 0)
            return true;
    return false;
}

static size_t read_word(const char **at, const char **ret)
{
    bool quoted = **at == '"';
    const char *word = *at + quoted;
    size_t length = strspn(word, ALPHANUMERIC "-");

    *at = word + length;
    *ret = word;
    if (quoted && *(*at)++ != '"')
        return 0;
    return length;
}

/* Reads a parameter of Content-Type from its semicolon on. */
static bool read_parameter(const char **at, struct decoded_part *part)
{
    /* in which ASCII is only ASCII, unlike UTF-7, HZ or ISO-2022-JP */
    static const char *const charsets[] = {"us-ascii", "utf-8", "iso-8859-1", "iso-8859-15", "windows-1252", NULL};
    static const char *const others[] = {"format", "delsp", NULL};
    const char *name, *value;

    *at += strspn(*at, " ");
    if (*(*at)++ != ';')
        return false;
    *at += strspn(*at, " ");
    size_t name_length = read_word(at, &name);
    if (name_length == 0 || name[-1] == '"' || *(*at)++ != '=')
        return false;
    size_t length = read_word(at, &value);
    if (length == 0 || strchr("; ", **at) == NULL)
        return false;
    if (name_length == 7 && g_ascii_strncasecmp(name, "charset", 7) == 0 && part->charset == NULL) {
        part->charset = g_ascii_strdown(value, (gssize)length);
        return is_one_of(value, length, charsets);
    }
    return is_one_of(name, name_length, others);
}

static bool read_text_type(struct decode_span header, struct decoded_part *part)
{
    static const char type[] = "text/plain";
    char *value OD_CLEANUP(base_free) = decode_field(header, "Content-Type", HEADER_MAX);

    part->type = base_strdup(type);
    if (value == NULL)
        return true;
    if (!is_verbatim(value) || g_ascii_strncasecmp(value, type, strlen(type)) != 0)
        return false;
    for (const char *at = value + strlen(type); *at != '\0';)
        if (!read_parameter(&at, part))
            return false;
    return true;
}

static bool is_as_it_stands(struct decode_span header)
{
    static const char *const encodings[] = {"7bit", "8bit", NULL};
    char *disposition OD_CLEANUP(base_free) = decode_field(header, "Content-Disposition", HEADER_MAX);
    char *encoding OD_CLEANUP(base_free) = decode_field(header, "Content-Transfer-Encoding", HEADER_MAX);

    return disposition == NULL && (encoding == NULL || is_one_of(encoding, strlen(encoding), encodings));
}

static bool read_part(struct decode_span header, struct decode_span body, struct decoded *decoded)
{
    struct decoded_part *part = decoded_add_part(decoded);
    size_t size = decode_span_size(body);
    struct sha256 sha256;

    if (!is_as_it_stands(header) || !read_text_type(header, part))
        return false;
    part->path = base_strdup("1");
    part->size = (int64_t)size;
    part->text = base_strndup((const char *)body.start, size);
    sha256_begin(&sha256);
    sha256_feed(&sha256, body.start, size);
    sha256_end(&sha256, part->sha256);
    return true;
}

struct decoded *decode_plain(const struct message *message, enum record_level level)
{
    const unsigned char *middle = message->data + message->header_size;
    struct decode_span header = {message->data, middle}, body = {middle, message->data + message->size};
    bool parts = level == RECORD_TEXT || level == RECORD_RAW;
    struct decoded *decoded OD_CLEANUP(decoded_free) = NULL;

    if (message->size > BYTES_MAX || decode_span_size(header) > HEADER_MAX || !is_ascii(header) ||
        !has_fields_only(header) || (parts && !is_ascii(body)))
        return NULL;
    decoded = decoded_new();
    decode_ids(decoded, header);
    if (!read_from(header, decoded) || !read_subject(header, decoded) ||
        (level != RECORD_ENVELOPE && !read_mailboxes(header, decoded)) || (parts && !read_part(header, body, decoded)))
        return NULL;
    return g_steal_pointer(&decoded);
}
