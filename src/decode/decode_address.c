/* SPDX-License-Identifier: ISC
 *
 * Reads address fields, for both decoders. gmime's parser drops deliverable addresses, recurses into groups, and takes
 * quadratic time. */
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
    char *copy = decode_sanitize(address, length - dot), *domain = strrchr(copy, '@');

    for (char *at = domain; at != NULL && *at; at++)
        *at = g_ascii_tolower(*at);
    char *unicode = domain != NULL && strstr(domain, "xn--") != NULL ? g_hostname_to_unicode(domain + 1) : NULL;
    if (unicode != NULL) {
        char *ascii = copy;
        copy = base_printf("%.*s@%s", (int)(domain - ascii), ascii, unicode);
        base_free(&ascii);
    }
    g_free(unicode);
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

static void add_mailbox(void *context, const char *name, const char *address)
{
    struct field *field = context;
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
            decode_mailbox_find(piece, add_mailbox, field);
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
