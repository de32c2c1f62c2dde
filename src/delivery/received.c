/* SPDX-License-Identifier: ISC
 *
 * The field's tokens, and the two forms that Postfix gives it. */
#include "delivery/received.h"

#include <string.h>
#include <strings.h>

#include "message/message_field.h"

enum kind { TOKEN_END, TOKEN_WORD, TOKEN_COMMENT, TOKEN_SEMICOLON, TOKEN_BROKEN };

/* A token of the field, by RFC 5322 (3.2.2, 3.2.4, 3.6.7). Words are all that is no comment: atoms, addresses, quoted
 * strings. */
struct token {
    enum kind kind;
    const char *start; /* of a comment: behind its '(' */
    size_t length;     /* of a comment: without its ')' */
};

/* Behind the quoted string that begins at `at`; NULL: it does not end. */
static const char *skip_string(const char *at)
{
    for (at++; *at != '\0' && *at != '"'; at++)
        if (*at == '\\' && at[1] != '\0')
            at++;
    return *at == '"' ? at + 1 : NULL;
}

/* The same for a comment; comments nest. */
static const char *skip_comment(const char *at)
{
    size_t depth = 0;
    for (; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        else if (*at == '(')
            depth++;
        else if (*at == ')' && --depth == 0)
            return at + 1;
    }
    return NULL;
}

static const char *skip_word(const char *at)
{
    while (at != NULL && strchr(" \t\r\n();", *at) == NULL) /* it finds the end of the text, too */
        at = *at == '"' ? skip_string(at) : at + 1;
    return at;
}

static struct token next_token(const char **at)
{
    const char *start = *at + strspn(*at, " \t\r\n"), *end;
    struct token token = {.kind = TOKEN_WORD, .start = start};
    if (*start == '\0') {
        token.kind = TOKEN_END;
        return token;
    }
    if (*start == ';') {
        token.kind = TOKEN_SEMICOLON;
        end = start + 1;
    } else {
        end = *start == '(' ? skip_comment(start) : skip_word(start);
    }
    if (end == NULL || end == start) {
        token.kind = TOKEN_BROKEN;
        return token;
    }
    token.length = (size_t)(end - start);
    if (*start == '(') {
        token.kind = TOKEN_COMMENT;
        token.start++;
        token.length -= 2;
    }
    *at = end;
    return token;
}

static bool is_word(const struct token *token, const char *word)
{
    return token->kind == TOKEN_WORD && token->length == strlen(word) &&
           strncasecmp(token->start, word, token->length) == 0;
}

/* The word behind this one, comments between them left out; *at stays behind the keyword when there is none. */
static bool next_value(const char **at, struct token *ret)
{
    const char *rest = *at;
    do
        *ret = next_token(&rest);
    while (ret->kind == TOKEN_COMMENT);
    if (ret->kind != TOKEN_WORD)
        return false;
    *at = rest;
    return true;
}

char *received_queue_id(const struct message *message)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char *received OD_CLEANUP(base_free) = message_header(message, "Received", NULL);
    const char *at = received;
    struct token token, value;
    if (received == NULL)
        return NULL;
    while ((token = next_token(&at)).kind == TOKEN_WORD || token.kind == TOKEN_COMMENT) {
        bool is_id = is_word(&token, "id");
        bool has_value = is_id || is_word(&token, "from") || is_word(&token, "by") || is_word(&token, "via") ||
                         is_word(&token, "with") || is_word(&token, "for");
        if (has_value && next_value(&at, &value) && is_id)
            return strspn(value.start, letters) >= value.length ? base_strndup(value.start, value.length) : NULL;
    }
    return NULL;
}

/* A login that Postfix wrote as it is: it balances parentheses, and puts '?' for what is not printable. */
static bool is_plain_login(const char *login, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (login[i] <= ' ' || login[i] > '~' || strchr("()\\?", login[i]) != NULL)
            return false;
    return length > 0;
}

/* The comment that stands alone right before "by"; *at is then behind "by HOST (MAIL_NAME) with". */
static bool read_to_protocol(const char **at, struct token *ret_comment)
{
    struct token token = next_token(at), host;
    struct token comment = {.kind = TOKEN_END};
    if (!is_word(&token, "from") || next_token(at).kind != TOKEN_WORD)
        return false;
    while ((token = next_token(at)).kind == TOKEN_COMMENT)
        comment = token;
    if (comment.kind != TOKEN_COMMENT || !is_word(&token, "by"))
        return false;
    host = next_token(at);
    if (host.kind != TOKEN_WORD || next_token(at).kind != TOKEN_COMMENT)
        return false;
    token = next_token(at);
    *ret_comment = comment;
    return is_word(&token, "with");
}

/* RFC 3848, RFC 6531: the protocols whose client has authenticated. */
static bool is_authenticated(const struct token *protocol)
{
    return is_word(protocol, "ESMTPA") || is_word(protocol, "ESMTPSA") || is_word(protocol, "UTF8SMTPA") ||
           is_word(protocol, "UTF8SMTPSA");
}

char *received_login(const struct message *message, const char *queue_id)
{
    static const char mark[] = "Authenticated sender: ";
    const size_t size = sizeof(mark) - 1;
    char *received OD_CLEANUP(base_free) = message_header(message, "Received", NULL);
    const char *at = received;
    struct token comment, protocol, id;
    if (received == NULL || !read_to_protocol(&at, &comment))
        return NULL;
    protocol = next_token(&at);
    id = next_token(&at);
    if (!is_authenticated(&protocol) || !is_word(&id, "id"))
        return NULL;
    id = next_token(&at);
    if (id.kind != TOKEN_WORD)
        return NULL;
    if (queue_id != NULL && (id.length != strlen(queue_id) || memcmp(id.start, queue_id, id.length) != 0))
        return NULL;
    if (comment.length <= size || memcmp(comment.start, mark, size) != 0 ||
        !is_plain_login(comment.start + size, comment.length - size))
        return NULL;
    return base_strndup(comment.start + size, comment.length - size);
}

char *received_original(const struct message *message)
{
    const unsigned char *at = message->data, *end = message->data + message->header_size;
    struct message_field field;
    bool there = false;
    while (message_field_next(&at, end, &field)) {
        if (message_field_is(&field, "Received"))
            return there ? message_header(message, "X-Original-To", NULL) : NULL;
        there = there || message_field_is(&field, "X-Original-To");
    }
    return NULL;
}
