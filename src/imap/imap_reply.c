/* SPDX-License-Identifier: ISC
 *
 * Tolerates known errors of servers, but never reads beyond the given bytes. */
#include "imap/imap_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool starts_with(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

static bool equals_word(const char *bytes, size_t size, const char *word)
{
    return size == strlen(word) && strncasecmp(bytes, word, size) == 0;
}

/* Parses a number, and moves *at past it. The data ends with a NUL. */
static bool take_number(const char **at, uint32_t *ret)
{
    uint64_t number = 0;
    const char *p = *at;
    while (*p >= '0' && *p <= '9' && number <= UINT32_MAX)
        number = number * 10 + (uint64_t)(*p++ - '0');
    if (p == *at || number > UINT32_MAX)
        return false;
    *at = p;
    *ret = (uint32_t)number;
    return true;
}

static void parse_code(const char *bracket, struct imap_reply *reply)
{
    const char *end = strchr(bracket, ']');
    if (end == NULL)
        return;
    const char *atom = bracket + 1;
    size_t length = strcspn(atom, " ]");
    for (size_t i = 0; i < length && i < sizeof(reply->code) - 1; i++)
        reply->code[i] = (char)(atom[i] >= 'a' && atom[i] <= 'z' ? atom[i] - 32 : atom[i]);
    reply->arguments = atom + length + (atom[length] == ' ');
    reply->arguments_size = (size_t)(end - reply->arguments);
    reply->text = end + 1 + (end[1] == ' ');
}

static void parse_status(struct imap_reply *reply)
{
    static const struct {
        const char *word;
        enum reply_status status;
    } words[] = {
        {"OK", STATUS_OK}, {"NO", STATUS_NO}, {"BAD", STATUS_BAD}, {"PREAUTH", STATUS_PREAUTH}, {"BYE", STATUS_BYE},
    };
    size_t length = strcspn(reply->data, " ");
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (equals_word(reply->data, length, words[i].word))
            reply->status = words[i].status;
    }
    if (reply->status == STATUS_NONE)
        return;
    reply->text = reply->data + length + (reply->data[length] == ' ');
    if (*reply->text == '[')
        parse_code(reply->text, reply);
}

struct imap_reply imap_reply_none(void)
{
    static char nothing[1] = "";
    return (struct imap_reply){.kind = REPLY_NONE, .data = nothing, .text = nothing, .arguments = nothing};
}

void imap_reply_parse(char *bytes, size_t size, const char *tag, struct imap_reply *ret)
{
    *ret = (struct imap_reply){.kind = REPLY_GARBAGE, .data = bytes, .data_size = size, .text = bytes, .arguments = ""};
    size_t tag_size = strlen(tag);
    size_t skip = 0;
    if (bytes[0] == '+' && (bytes[1] == ' ' || size == 1)) {
        ret->kind = REPLY_CONTINUE;
        skip = size == 1 ? 1 : 2;
    } else if (bytes[0] == '*' && bytes[1] == ' ') {
        ret->kind = REPLY_UNTAGGED;
        skip = 2;
    } else if (tag_size > 0 && strncmp(bytes, tag, tag_size) == 0 && bytes[tag_size] == ' ') {
        ret->kind = REPLY_TAGGED;
        skip = tag_size + 1;
    } else {
        return;
    }
    ret->text = ret->data = bytes + skip;
    ret->data_size = size - skip;
    if (ret->kind != REPLY_CONTINUE)
        parse_status(ret);
    if (ret->kind == REPLY_TAGGED && (ret->status < STATUS_OK || ret->status > STATUS_BAD))
        ret->kind = REPLY_GARBAGE;
}

bool imap_reply_has_word(const char *list, const char *word)
{
    for (const char *p = list; *p != '\0';) {
        size_t length = strcspn(p, " ");
        if (equals_word(p, length, word))
            return true;
        p += length;
        p += strspn(p, " ");
    }
    return false;
}

bool imap_reply_appenduid(const struct imap_reply *reply, uint32_t *ret_uidvalidity, uint32_t *ret_uid)
{
    const char *at = reply->arguments;
    const char *end = at + reply->arguments_size;
    uint32_t uidvalidity, uid;
    if (strcmp(reply->code, "APPENDUID") != 0 || !take_number(&at, &uidvalidity) || *at++ != ' ' ||
        !take_number(&at, &uid) || at != end)
        return false;
    *ret_uidvalidity = uidvalidity;
    *ret_uid = uid;
    return true;
}

bool imap_reply_code_number(const struct imap_reply *reply, const char *code, uint32_t *ret)
{
    const char *at = reply->arguments;
    return strcmp(reply->code, code) == 0 && take_number(&at, ret);
}

bool imap_reply_exists(const struct imap_reply *reply, uint32_t *ret)
{
    const char *at = reply->data;
    uint32_t number;
    if (!take_number(&at, &number) || !starts_with(at, " EXISTS"))
        return false;
    *ret = number;
    return true;
}

bool imap_reply_search(const struct imap_reply *reply, uint32_t **uids, size_t *count)
{
    const char *at = reply->data;
    const char *end = at + reply->data_size;
    if (!starts_with(at, "SEARCH") || (at[6] != ' ' && at[6] != '\0'))
        return false;
    at += 6;
    while (at < end) {
        uint32_t uid;
        if (*at == ' ') {
            at++;
        } else if (take_number(&at, &uid)) {
            if ((*count & (*count + 1)) == 0)
                *uids = base_realloc(*uids, (2 * *count + 2) * sizeof(**uids));
            (*uids)[(*count)++] = uid;
        } else {
            return false;
        }
    }
    return true;
}

static bool next_word(struct imap_cursor *cursor, const char *word)
{
    return imap_token_next(cursor) == TOKEN_ATOM && equals_word(cursor->text, cursor->size, word);
}

bool imap_reply_list(struct imap_reply *reply, struct reply_list *ret)
{
    struct imap_cursor cursor = {.at = reply->data, .end = reply->data + reply->data_size};
    struct reply_list list = {.selectable = true};
    if (!next_word(&cursor, "LIST") || imap_token_next(&cursor) != TOKEN_OPEN)
        return false;
    enum imap_token token;
    while ((token = imap_token_next(&cursor)) == TOKEN_ATOM) {
        list.sent |= equals_word(cursor.text, cursor.size, "\\Sent");
        list.selectable &= !equals_word(cursor.text, cursor.size, "\\Noselect") &&
                           !equals_word(cursor.text, cursor.size, "\\NonExistent");
    }
    if (token != TOKEN_CLOSE || imap_token_next(&cursor) < TOKEN_ATOM || imap_token_next(&cursor) < TOKEN_ATOM)
        return false;
    list.name = cursor.text;
    list.name_size = cursor.size;
    *ret = list;
    return true;
}

/* After '(': prefix, separator, extensions. */
static bool take_namespace(struct imap_cursor *cursor, struct reply_namespace *namespace)
{
    if (imap_token_next(cursor) != TOKEN_STRING)
        return false;
    namespace->prefix = cursor->text;
    namespace->prefix_size = cursor->size;
    enum imap_token token = imap_token_next(cursor);
    if (token != TOKEN_STRING && token != TOKEN_ATOM) /* NIL: no hierarchy */
        return false;
    namespace->separator = token == TOKEN_STRING && cursor->size > 0 ? cursor->text[0] : '\0';
    while ((token = imap_token_next(cursor)) != TOKEN_CLOSE) {
        if (!imap_token_skip(cursor, token))
            return false;
    }
    return true;
}

bool imap_reply_namespaces(struct imap_reply *reply,
                           void (*each)(void *context, const struct reply_namespace *namespace), void *context)
{
    struct imap_cursor cursor = {.at = reply->data, .end = reply->data + reply->data_size};
    if (!next_word(&cursor, "NAMESPACE"))
        return false;
    for (int kind = 0; kind < 3; kind++) {
        struct reply_namespace namespace = {.personal = kind == 0};
        enum imap_token token = imap_token_next(&cursor);
        if (token == TOKEN_ATOM && equals_word(cursor.text, cursor.size, "NIL"))
            continue;
        if (token != TOKEN_OPEN)
            return false;
        while ((token = imap_token_next(&cursor)) == TOKEN_OPEN) {
            if (!take_namespace(&cursor, &namespace))
                return false;
            each(context, &namespace);
        }
        if (token != TOKEN_CLOSE)
            return false;
    }
    return true;
}

bool imap_reply_fetch(struct imap_reply *reply, struct reply_fetch *ret)
{
    struct imap_cursor cursor = {.at = reply->data, .end = reply->data + reply->data_size};
    struct reply_fetch fetch = {.uid = 0};
    if (imap_token_next(&cursor) != TOKEN_ATOM || !next_word(&cursor, "FETCH") ||
        imap_token_next(&cursor) != TOKEN_OPEN)
        return false;
    enum imap_token token;
    while ((token = imap_token_next(&cursor)) == TOKEN_ATOM) {
        bool is_uid = equals_word(cursor.text, cursor.size, "UID");
        bool is_body = cursor.size > 5 && starts_with(cursor.text, "BODY[");
        token = imap_token_next(&cursor);
        const char *text = cursor.text;
        if (is_uid && (token != TOKEN_ATOM || !take_number(&text, &fetch.uid)))
            return false;
        if (is_body && token == TOKEN_STRING) { /* NIL: may be temporarily unreadable */
            fetch.body = cursor.text;
            fetch.body_size = cursor.size;
        }
        if (!imap_token_skip(&cursor, token))
            return false;
    }
    if (token != TOKEN_CLOSE)
        return false;
    *ret = fetch;
    return true;
}
