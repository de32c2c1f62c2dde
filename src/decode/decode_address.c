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

/* Called for each mailbox found; false ends the search. */
typedef bool (*mailbox_function)(void *context, const char *group, InternetAddressMailbox *mailbox);

static bool each_mailbox(InternetAddressList *list, const char *group, mailbox_function function, void *context)
{
    for (int i = 0; list != NULL && i < internet_address_list_length(list); i++) {
        InternetAddress *address = internet_address_list_get_address(list, i);
        const char *text;

        if (!INTERNET_ADDRESS_IS_MAILBOX(address))
            continue;
        text = internet_address_mailbox_get_addr(INTERNET_ADDRESS_MAILBOX(address));
        if (text != NULL && *text && !function(context, group, INTERNET_ADDRESS_MAILBOX(address)))
            return false;
    }
    return true;
}

static bool parse_piece(GMimeParserOptions *options, const char *piece, const char *group, mailbox_function function,
                        void *context)
{
    char *joined OD_CLEANUP(base_free) = decode_join_words(piece);
    InternetAddressList *list = internet_address_list_parse(options, joined);
    bool more = each_mailbox(list, group, function, context);

    if (list != NULL)
        g_object_unref(list);
    return more;
}

static void parse_list(GMimeParserOptions *options, const char *value, mailbox_function function, void *context)
{
    char *group OD_CLEANUP(base_free) = NULL;
    bool more = true;

    while (more && *value) {
        size_t length = piece_length(value);
        char *piece OD_CLEANUP(base_free) =
            base_strndup(value, length < DECODE_ADDRESS_MAX ? length : DECODE_ADDRESS_MAX);
        char end = value[length];

        if (end == ':') {
            base_free(&group);
            group = decoded_phrase(options, piece);
        } else {
            more = parse_piece(options, piece, group, function, context);
        }
        if (end == ';')
            base_free(&group);
        value += length + (end != '\0');
    }
}

struct collector {
    struct decoded *decoded;
    const char *role;
    int position;
};

static bool collect(void *context, const char *group, InternetAddressMailbox *mailbox)
{
    struct collector *to = context;
    const char *name = internet_address_get_name(INTERNET_ADDRESS(mailbox));

    if (to->decoded->address_count == DECODE_ADDRESSES_MAX)
        return false;
    *decoded_add_address(to->decoded) = (struct decoded_address){
        .role = to->role,
        .position = ++to->position,
        .group = base_strdup(group),
        .name = name != NULL && *name ? decode_scrub(name, strlen(name)) : NULL,
        .address = normal_address(internet_address_mailbox_get_addr(mailbox)),
    };
    return true;
}

void decode_addresses(struct decoded *decoded, GMimeParserOptions *options, const char *role, const char *value)
{
    struct collector to = {.decoded = decoded, .role = role};

    parse_list(options, value, collect, &to);
}

static bool take_first(void *context, const char *group, InternetAddressMailbox *mailbox)
{
    char **first = context;

    (void)group;
    *first = normal_address(internet_address_mailbox_get_addr(mailbox));
    return false;
}

char *decode_first_address(GMimeParserOptions *options, const char *value)
{
    char *first = NULL;

    parse_list(options, value, take_first, &first);
    return first;
}
