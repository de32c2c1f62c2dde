/* SPDX-License-Identifier: ISC
 *
 * Address fields. The list is split into addresses here, and gmime gets them one by one: its parser recurses into
 * nested groups and takes time quadratic in the length of a list. */
#include <string.h>

#include "decode/decode_internal.h"

/* Length up to the ',' ';' or ':' that ends an address or a group name, except inside quotes, comments and brackets. If
 * one of those is not closed, everything up to the end. */
static size_t piece_length(const char *text)
{
    char closing = '\0';
    size_t i, depth = 0;

    for (i = 0; text[i]; i++) {
        if (text[i] == '\\' && text[i + 1])
            i++;
        else if (text[i] == '(' && (closing == '\0' || closing == ')'))
            closing = ')', depth++;
        else if (closing == ')')
            closing = text[i] == ')' && --depth == 0 ? '\0' : ')';
        else if (closing != '\0')
            closing = text[i] == closing ? '\0' : closing;
        else if (text[i] == '"')
            closing = '"';
        else if (text[i] == '<')
            closing = '>';
        else if (text[i] == '[')
            closing = ']';
        else if (strchr(",;:", text[i]) != NULL)
            break;
    }
    return i;
}

static char *decoded_phrase(GMimeParserOptions *options, char *phrase)
{
    g_strstrip(phrase);
    g_mime_utils_unquote_string(phrase);
    char *joined OD_CLEANUP(base_free) = decode_join_words(phrase);
    return decode_take(g_mime_utils_header_decode_phrase(options, joined));
}

/* A new string: as written, except that the domain is in lower case. */
static char *normal_address(const char *address)
{
    char *copy = decode_scrub(address, strlen(address));

    for (char *at = strrchr(copy, '@'); at != NULL && *at; at++)
        *at = g_ascii_tolower(*at);
    return copy;
}

/* A field while it is read. */
struct field {
    struct decoded *decoded;
    GMimeParserOptions *options;
    const char *role;
    size_t most; /* of decoded->addresses */
    int position;
};

static void add_mailbox(struct field *field, InternetAddress *mailbox, const char *group)
{
    const char *address = internet_address_mailbox_get_addr(INTERNET_ADDRESS_MAILBOX(mailbox));

    if (address == NULL || *address == '\0')
        return;
    *decoded_add_address(field->decoded) = (struct decoded_address){
        .role = field->role,
        .position = ++field->position,
        .group = base_strdup(group),
        .name = decode_copy(internet_address_get_name(mailbox)),
        .address = normal_address(address),
    };
}

static void add_mailboxes(struct field *field, const char *piece, const char *group)
{
    char *joined OD_CLEANUP(base_free) = decode_join_words(piece);
    InternetAddressList *list = internet_address_list_parse(field->options, joined);
    int count = list != NULL ? internet_address_list_length(list) : 0;

    for (int i = 0; i < count && field->decoded->address_count < field->most; i++) {
        InternetAddress *address = internet_address_list_get_address(list, i);

        if (INTERNET_ADDRESS_IS_MAILBOX(address))
            add_mailbox(field, address, group);
    }
    if (list != NULL)
        g_object_unref(list);
}

static void read_addresses(struct field *field, const char *value)
{
    char *group OD_CLEANUP(base_free) = NULL;

    while (*value && field->decoded->address_count < field->most) {
        size_t length = piece_length(value);
        char *piece OD_CLEANUP(base_free) = base_strndup(value, MIN(length, DECODE_ADDRESS_MAX));
        char end = value[length];

        if (end == ':') {
            base_free(&group);
            group = decoded_phrase(field->options, piece);
        } else {
            add_mailboxes(field, piece, group);
        }
        if (end == ';')
            base_free(&group);
        value += length + (end != '\0');
    }
}

void decode_addresses(struct decoded *decoded, GMimeParserOptions *options, const char *role, const char *value)
{
    read_addresses(&(struct field){decoded, options, role, DECODE_ADDRESSES_MAX, 0}, value);
}

char *decode_first_address(GMimeParserOptions *options, const char *value)
{
    struct decoded *first OD_CLEANUP(decoded_free) = decoded_new();

    read_addresses(&(struct field){first, options, NULL, 1, 0}, value);
    return first->address_count > 0 ? g_steal_pointer(&first->addresses[0].address) : NULL;
}
