/* SPDX-License-Identifier: ISC
 *
 * Reads address fields (RFC 5322, 3.4 and 4.4), for both decoders. MTAs deliver to more than the grammar allows (Latin-1,
 * consecutive dots), so any text in place of an address is one. gmime's parser drops these, recurses into groups, and
 * takes quadratic time. */
#include <string.h>

#include "decode/decode_internal.h"

static const char opening_characters[] = "\"(<[", closing_characters[] = "\")>]";

/* The last of each closing character; an opening one after it is literal. */
struct closings {
    const char *last[4];
};

static char closing_of(const char *at, const struct closings *closings)
{
    const char *opening = strchr(opening_characters, *at);
    size_t i = opening != NULL ? (size_t)(opening - opening_characters) : 0;

    return opening != NULL && at < closings->last[i] ? closing_characters[i] : '\0';
}

/* Returns the length up to the unquoted ',' ';' or ':' that ends an address or group. A ':' after '@' ends nothing. */
static size_t piece_length(const char *text, const struct closings *closings)
{
    char closing = '\0';
    bool has_at = false;
    size_t i, depth = 0;

    for (i = 0; text[i]; i++) {
        if (text[i] == '\\' && text[i + 1])
            i++;
        else if (closing == ')' && text[i] == '(')
            depth++;
        else if (closing != '\0')
            closing = text[i] != closing || (closing == ')' && --depth > 0) ? closing : '\0';
        else if (text[i] == ',' || text[i] == ';' || (text[i] == ':' && !has_at))
            break;
        else if ((closing = closing_of(text + i, closings)) == ')')
            depth = 1;
        has_at |= text[i] == '@' && closing == '\0';
    }
    return i;
}

/* Returns the address, domain in lower case, without a final dot, A-labels (RFC 5890) decoded. */
static char *normal_address(const char *address)
{
    size_t length = strlen(address);
    bool dot = g_str_has_suffix(address, ".") && strchr(address, '@') != NULL && !g_str_has_suffix(address, "..");
    char *copy = g_utf8_make_valid(address, (gssize)(length - dot)), *domain = strrchr(copy, '@');

    for (char *at = domain; at != NULL && *at; at++)
        *at = g_ascii_tolower(*at);
    g_autofree char *unicode = domain != NULL && strstr(domain, "xn--") != NULL ? g_hostname_to_unicode(domain + 1)
                                                                                : NULL;
    if (unicode != NULL) {
        char *ascii = copy;
        copy = base_printf("%.*s@%s", (int)(domain - ascii), ascii, unicode);
        base_free(&ascii);
    }
    return copy;
}

struct field {
    struct decoded *decoded;
    const char *role;
    decode_phrase *phrase;
    void *context;
    size_t max;
    int position;
    char *group; /* of the next address */
};

/* name: or "". */
static void add_mailbox(struct field *field, const char *name, const char *address)
{
    if (field->decoded->address_count >= field->max)
        return;
    *decoded_add_address(field->decoded) = (struct decoded_address){
        .role = field->role,
        .position = ++field->position,
        .group = base_strdup(field->group),
        .name = field->phrase(field->context, name),
        .address = normal_address(address),
    };
}

/* Between two commas of a field. */
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
static void add_from_words(struct field *field, const char *text, const char *comment)
{
    const char *name = text;
    bool has_at;

    for (const char *at = text; *at != '\0'; at += strspn(at, " \t\r\n")) {
        size_t length = word_length(at, &has_at);
        bool alone = at == text && at[length] == '\0';

        if ((has_at || alone) && is_address_spec(at)) {
            char *phrase OD_CLEANUP(base_free) = base_strndup(name, (size_t)(at - name));
            char *address OD_CLEANUP(base_free) = base_strndup(at, length);
            add_mailbox(field, *phrase != '\0' ? phrase : comment, address);
            name = at + length;
        }
        at += length;
    }
}

/* Adds each address (usually one) of a piece. Its name is what precedes it, else the comment after it. */
static void add_from_piece(struct field *field, const char *text)
{
    struct piece piece = {g_string_new(NULL), g_string_new(NULL), g_string_new(NULL), false};

    split(text, &piece);
    g_autoptr(GString) address = cleaned(piece.has_bracket ? piece.bracket->str : piece.words->str);
    bool named = piece.has_bracket && piece.words->str[strspn(piece.words->str, " \t\r\n")] != '\0';
    /* in X.400 and Lotus Notes addresses, blanks belong to it */
    bool directory_name = *address->str == '/' || g_ascii_strncasecmp(address->str, "CN=", 3) == 0;
    if (!piece.has_bracket && !directory_name)
        add_from_words(field, address->str, piece.comment->str);
    else if (is_address_spec(address->str))
        add_mailbox(field, named ? piece.words->str : piece.comment->str, address->str);
    g_string_free(piece.words, TRUE);
    g_string_free(piece.bracket, TRUE);
    g_string_free(piece.comment, TRUE);
}

static void read_addresses(struct field *field, const char *value)
{
    struct closings closings;

    for (size_t i = 0; i < G_N_ELEMENTS(closings.last); i++)
        closings.last[i] = strrchr(value, closing_characters[i]);
    while (*value && field->decoded->address_count < field->max) {
        size_t length = piece_length(value, &closings);
        char *piece OD_CLEANUP(base_free) = base_strndup(value, MIN(length, DECODE_ADDRESS_MAX));
        char end = value[length];

        if (end == ':') {
            base_free(&field->group);
            field->group = field->phrase(field->context, piece);
        } else {
            add_from_piece(field, piece);
        }
        if (end == ';')
            base_free(&field->group);
        value += length + (end != '\0');
    }
    base_free(&field->group);
}

void decode_addresses(struct decoded *decoded, const char *role, const char *value, decode_phrase *phrase,
                      void *context)
{
    read_addresses(&(struct field){decoded, role, phrase, context, DECODE_ADDRESSES_MAX, 0, NULL}, value);
}

char *decode_first_address(const char *value, decode_phrase *phrase, void *context)
{
    struct decoded *first OD_CLEANUP(decoded_free) = decoded_new();

    read_addresses(&(struct field){first, NULL, phrase, context, 1, 0, NULL}, value);
    return first->address_count > 0 ? g_steal_pointer(&first->addresses[0].address) : NULL;
}
