/* SPDX-License-Identifier: ISC
 *
 * Reads a piece of an address field (RFC 5322, 3.4 and 4.4). MTAs deliver to more than the grammar allows (Latin-1,
 * consecutive dots), so any text in place of an address is one. gmime's parser drops these. */
#include <string.h>

#include "decode/decode_internal.h"

struct piece {
    GString *words;   /* outside < >, without comments */
    GString *bracket; /* inside < > */
    GString *comment; /* first outside < > */
    bool has_bracket;
};

/* Returns the length; 1: unclosed. An unbalanced comment ends at the last ')', in linear time. */
static size_t enclosed_length(const char *text, char open, char close)
{
    size_t depth = 1, end = 1;

    if (strchr(text + 1, close) == NULL)
        return 1;
    for (size_t i = 1; text[i] != '\0' && depth > 0; i++) {
        if (text[i] == '\\' && text[i + 1] != '\0' && open != '[')
            i++;
        else if (text[i] == close)
            end = i + 1, depth--;
        else if (text[i] == open)
            depth += open == '(';
    }
    return end;
}

size_t decode_unit_length(const char *text)
{
    static const char opening[] = "\"[(", closing[] = "\"])";
    const char *kind = *text != '\0' ? strchr(opening, *text) : NULL;

    if (kind != NULL)
        return enclosed_length(text, *kind, closing[kind - opening]);
    return *text == '\\' && text[1] != '\0' ? 2 : 1;
}

static bool is_white(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* A comment is a name unless words follow. */
static void add_comment(struct piece *piece, const char *text, size_t length, bool inside)
{
    if (!inside && piece->comment->len == 0)
        g_string_append_len(piece->comment, text + 1, (gssize)length - 2);
    g_string_append_c(inside ? piece->bracket : piece->words, ' ');
}

static void append_word(struct piece *piece, const char *text, size_t length, bool inside)
{
    if (!message_is_white(*text) || inside)
        g_string_truncate(piece->comment, 0);
    g_string_append_len(inside ? piece->bracket : piece->words, text, (gssize)length);
}

static void split(const char *text, struct piece *piece)
{
    bool inside = false, closed = false;

    for (size_t n; *text != '\0'; text += n) {
        n = decode_unit_length(text);
        if (*text == '<' && !closed) {
            inside = piece->has_bracket = true;
        } else if (*text == '>' || *text == '<') {
            closed = closed || inside;
            inside = false;
        } else if (*text == '(' && n > 1) {
            add_comment(piece, text, n, inside);
        } else if (inside || !closed) {
            append_word(piece, text, n, inside);
        }
    }
}

/* Returns the length of meaningless blanks: next to '.' or '@', or at an end. */
static size_t free_blanks(const char *text, const char *before)
{
    size_t n = strspn(text, " \t\r\n");

    return n > 0 &&
                   (text[n] == '\0' || strchr(".@", text[n]) != NULL || before == NULL || strchr(".@", *before) != NULL)
               ? n
               : 0;
}

/* Removes a source route (RFC 5322, 4.4) and meaningless blanks. */
static GString *cleaned(const char *text)
{
    GString *out = g_string_new(NULL);

    for (size_t n; *text != '\0'; text += n) {
        n = free_blanks(text, out->len > 0 ? out->str + out->len - 1 : NULL);
        if (n > 0)
            continue;
        n = decode_unit_length(text);
        if (*text == ':' && out->str[0] == '@')
            g_string_truncate(out, 0);
        else
            g_string_append_len(out, text, (gssize)n);
    }
    return out;
}

/* *ret_at: the word has an unquoted '@'. */
static size_t word_length(const char *text, bool *ret_at)
{
    size_t length = 0;

    *ret_at = false;
    while (text[length] != '\0' && strchr(" \t\r\n", text[length]) == NULL) {
        *ret_at |= text[length] == '@';
        length += decode_unit_length(text + length);
    }
    return length;
}

/* Something must precede the domain. */
static bool is_address_spec(const char *text)
{
    return *text != '@' && text[strspn(text, ".\"")] != '\0';
}

/* Without brackets, a word with an '@' or a single word is an address; the text before it is its name. */
static void find_in_words(const char *text, const char *comment, decode_mailbox_found found, void *context)
{
    const char *name = text;
    bool has_at;

    for (const char *at = text; *at != '\0'; at += strspn(at, " \t\r\n")) {
        size_t length = word_length(at, &has_at);
        bool alone = at == text && at[length] == '\0';

        if ((has_at || alone) && is_address_spec(at)) {
            char *phrase OD_CLEANUP(base_free) = base_strndup(name, (size_t)(at - name));
            char *address OD_CLEANUP(base_free) = base_strndup(at, length);
            found(context, *phrase != '\0' ? phrase : comment, address);
            name = at + length;
        }
        at += length;
    }
}

/* X.400 or Lotus Notes: blanks belong to it. */
static bool is_directory_name(const char *text)
{
    return *text == '/' || g_ascii_strncasecmp(text, "CN=", 3) == 0;
}

void decode_mailbox_find(const char *text, decode_mailbox_found found, void *context)
{
    struct piece piece = {g_string_new(NULL), g_string_new(NULL), g_string_new(NULL), false};

    split(text, &piece);
    GString *address = cleaned(piece.has_bracket ? piece.bracket->str : piece.words->str);
    bool named = piece.has_bracket && !is_white(piece.words->str);
    if (!piece.has_bracket && !is_directory_name(address->str))
        find_in_words(address->str, piece.comment->str, found, context);
    else if (is_address_spec(address->str))
        found(context, named ? piece.words->str : piece.comment->str, address->str);
    g_string_free(address, TRUE);
    g_string_free(piece.words, TRUE);
    g_string_free(piece.bracket, TRUE);
    g_string_free(piece.comment, TRUE);
}
