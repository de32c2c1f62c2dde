/* SPDX-License-Identifier: ISC */
#include "base/log.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT 0xfffd

static const struct log_field_row rows[LOG_FIELD_NAMES] = {
    [LOG_FIELD_MESSAGE_ID] = {"message-id", LOG_ENCLOSED, false},
    [LOG_FIELD_TO] = {"to", LOG_ENCLOSED, false},
    [LOG_FIELD_FROM] = {"from", LOG_ENCLOSED, false},
    [LOG_FIELD_ACCOUNT] = {"account", LOG_WORD, false},
    [LOG_FIELD_MAILBOX] = {"mailbox", LOG_WORD, true}, /* "stored uid=17 mailbox=INBOX" */
    [LOG_FIELD_UID] = {"uid", LOG_NUMBER, true},       /* the same */
    [LOG_FIELD_SIZE] = {"size", LOG_NUMBER, false},
    [LOG_FIELD_DELAY] = {"delay", LOG_NUMBER, false},
    [LOG_FIELD_DELAYS] = {"delays", LOG_WORD, false},
    [LOG_FIELD_DSN] = {"dsn", LOG_WORD, false},
    [LOG_FIELD_STATUS] = {"status", LOG_WORD, false},
    [LOG_FIELD_ORIG_TO] = {"orig_to", LOG_ENCLOSED, false},
    [LOG_FIELD_RELAY] = {"relay", LOG_WORD, false},
};

const struct log_field_row *log_field_row(enum log_field_name name)
{
    return &rows[name];
}

static bool is_plain(gunichar c)
{
    switch (g_unichar_type(c)) {
    case G_UNICODE_CONTROL:
    case G_UNICODE_FORMAT:
    case G_UNICODE_UNASSIGNED:
    case G_UNICODE_PRIVATE_USE:
    case G_UNICODE_SURROGATE:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
        return false;
    default:
        break;
    }
    /* invisible letters and marks: fillers, grapheme joiner, variation selectors */
    return c != 0x034f && c != 0x115f && c != 0x1160 && c != 0x3164 && c != 0xffa0 && (c < 0xe0100 || c > 0xe01ef);
}

/* Returns the UTF-8 character's length, and sets *ret; 0: invalid. length: of text, or -1. */
static size_t read_character(const char *text, gssize length, gunichar *ret)
{
    gunichar c = g_utf8_get_char_validated(text, length);
    if (c == (gunichar)-1 || c == (gunichar)-2)
        return 0;
    *ret = c;
    return g_utf8_skip[(unsigned char)*text];
}

/* Returns the UTF-8 character's length; 0: invalid, or to be escaped. */
static size_t plain_length(const char *text)
{
    gunichar c = 0;
    if (*text >= ' ' && *text < 0x7f) /* most text; the rest takes far longer */
        return 1;
    size_t length = read_character(text, -1, &c);
    return length > 0 && is_plain(c) ? length : 0;
}

/* Returns true if '=' at `at` follows a log field's name. */
static bool ends_name(const char *text, const char *at, enum log_escape how)
{
    const char *name = at;
    while (name > text && (g_ascii_isalnum(name[-1]) || name[-1] == '-' || name[-1] == '_'))
        name--;
    for (enum log_field_name i = LOG_FIELD_NONE + 1; i < LOG_FIELD_NAMES; i++) {
        const struct log_field_row *row = log_field_row(i);
        if ((size_t)(at - name) == strlen(row->name) && memcmp(name, row->name, strlen(row->name)) == 0)
            return how == LOG_ESCAPE_FIELD || !row->plain_in_text;
    }
    return false;
}

static bool is_structure(const char *text, const char *at, enum log_escape how)
{
    if (how < LOG_ESCAPE_TEXT)
        return false;
    if (how == LOG_ESCAPE_FIELD && (*at == '<' || *at == '>' || (*at == ' ' && at > text && at[-1] == ',')))
        return true;
    return *at == '=' && ends_name(text, at, how);
}

size_t log_escape_as(enum log_escape how, const char *text, char *out, size_t size)
{
    const char *at = text;
    size_t used = 0;
    while (*at) {
        char piece[8];
        size_t length = is_structure(text, at, how) ? 0 : plain_length(at);
        size_t step = length > 0 ? length : 1;
        if (length == 0)
            length = (size_t)snprintf(piece, sizeof(piece), "\\%03o", (unsigned)(unsigned char)*at);
        else if (how != LOG_ESCAPE_LINE && *at == '\\')
            length = (size_t)snprintf(piece, sizeof(piece), "\\\\");
        else
            memcpy(piece, at, length);
        if (used + length >= size)
            break;
        memcpy(out + used, piece, length);
        used += length;
        at += step;
    }
    out[used] = '\0';
    return (size_t)(at - text);
}

/* Writes \uhhhh; beyond U+FFFF, two surrogates. */
static size_t write_hidden(gunichar c, char *piece, size_t size)
{
    if (c <= 0xffff)
        return (size_t)snprintf(piece, size, "\\u%04x", c);
    c -= 0x10000;
    return (size_t)snprintf(piece, size, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

size_t log_escape_json(const char *text, size_t length, char *out, size_t size)
{
    size_t at = 0, used = 0;
    while (at < length) {
        char piece[16];
        gunichar c = REPLACEMENT;
        size_t step = read_character(text + at, (gssize)(length - at), &c), written = step;
        if (c == '"' || c == '\\')
            written = (size_t)snprintf(piece, sizeof(piece), "\\%c", (int)c);
        else if (step == 0 || !is_plain(c))
            written = write_hidden(c, piece, sizeof(piece));
        else
            memcpy(piece, text + at, step);
        if (used + written >= size)
            break;
        memcpy(out + used, piece, written);
        used += written;
        at += MAX(step, 1);
    }
    out[used] = '\0';
    return at;
}

#define ESCAPE_FUNCTION(function, how) \
    const char *function(const char *text, char *out, size_t size) \
    { \
        if (size > 0) \
            (void)log_escape_as(how, text, out, size); \
        return out; \
    }

ESCAPE_FUNCTION(log_escape, LOG_ESCAPE_OUTPUT)
ESCAPE_FUNCTION(log_escape_field, LOG_ESCAPE_FIELD)
ESCAPE_FUNCTION(log_escape_text, LOG_ESCAPE_TEXT)
