/* SPDX-License-Identifier: ISC
 *
 * Reads simple addresses; a length of 0 means another form. */
#include <string.h>

#include "decode/decode_internal.h"

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define MAILBOXES_MAX 100
#define NAME_SIZE 200
#define ADDRESS_MAX 320 /* RFC 5321, 4.5.3.1: 64 and 255 */

/* Words with single dots between them. */
static size_t dotted_length(const char *text, const char *characters)
{
    size_t length = 0;

    for (;;) {
        size_t word = strspn(text + length, characters);
        if (word == 0)
            return 0;
        length += word;
        if (text[length] != '.')
            return length;
        length++;
    }
}

/* local@domain, without A-labels ("xn--"). */
static size_t address_length(const char *text)
{
    size_t local = dotted_length(text, ALPHANUMERIC "_+-=/");
    size_t domain = local > 0 && text[local] == '@' ? dotted_length(text + local + 1, ALPHANUMERIC "-") : 0;

    if (domain == 0 || local + domain > ADDRESS_MAX)
        return 0;
    for (const char *label = text + local + 1; label < text + local + 1 + domain; label++)
        if (g_ascii_strncasecmp(label, "xn--", 4) == 0)
            return 0;
    return local + 1 + domain;
}

/* Words with single blanks between them. */
static size_t words_length(const char *text)
{
    size_t length = 0;

    for (;;) {
        size_t word = strspn(text + length, ALPHANUMERIC "'-");
        if (word == 0)
            return 0;
        length += word;
        if (text[length] != ' ' || text[length + 1] == '<')
            return length;
        length++;
    }
}

/* Includes the blank after the name. */
static size_t read_display_name(const char *text, char **ret)
{
    bool quoted = *text == '"';
    const char *name = text + quoted;
    size_t length = quoted ? strcspn(name, "\"\\\t") : words_length(name);
    const char *end = name + length;

    if (length == 0 || length > NAME_SIZE)
        return 0;
    if (quoted &&
        (*end++ != '"' || *name == ' ' || name[length - 1] == ' ' || g_strstr_len(name, (gssize)length, "=?") != NULL))
        return 0;
    if (end[0] != ' ' || end[1] != '<')
        return 0;
    *ret = base_strndup(name, length);
    return (size_t)(end + 1 - text);
}

static size_t read_mailbox(const char *text, char **ret_name, char **ret_address)
{
    size_t name = *text == '<' ? 0 : read_display_name(text, ret_name), length;
    bool brackets = text[name] == '<';

    length = address_length(text + name + brackets);
    if (length == 0 || (brackets && text[name + 1 + length] != '>'))
        return 0;
    char *address = *ret_address = base_strndup(text + name + brackets, length);
    for (char *at = strchr(address, '@'); *at != '\0'; at++)
        *at = g_ascii_tolower(*at);
    return name + length + (brackets ? 2 : 0);
}

bool decode_plain_mailboxes(struct decoded *decoded, const char *role, const char *value)
{
    for (int position = 1; *value != '\0'; position++) {
        struct decoded_address *address = decoded_add_address(decoded);

        *address = (struct decoded_address){.role = role, .position = position};
        size_t length = position <= MAILBOXES_MAX ? read_mailbox(value, &address->name, &address->address) : 0;
        value += length;
        if (length == 0 || (*value != '\0' && *value != ','))
            return false;
        if (*value == ',') {
            value += 1 + strspn(value + 1, " ");
            if (*value == '\0')
                return false;
        }
    }
    return true;
}
