/* SPDX-License-Identifier: ISC */
#include "delivery/received.h"

#include <string.h>
#include <strings.h>

#include "decode/decode.h"
#include "message/message_field.h"

#define QUEUE_ID_MAX 100
#define LOGIN_MAX 1000

enum kind { TOKEN_END, TOKEN_WORD, TOKEN_COMMENT, TOKEN_SEMICOLON, TOKEN_BROKEN };

/* RFC 5322, 3.2.2, 3.2.4, 3.6.7. Words are atoms, addresses and quoted strings. */
struct token {
    enum kind kind;
    const char *start; /* in a comment */
    size_t length;     /* without ')' */
};

/* Returns the end of a string or comment that begins before `at`, or NULL. Comments nest. */
static const char *skip_enclosed(const char *at, char open, char close)
{
    for (size_t depth = 1; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        else if (*at == close && --depth == 0)
            return at + 1;
        else if (*at == open)
            depth++;
    }
    return NULL;
}

static const char *skip_word(const char *at)
{
    while (at != NULL && strchr(" \t\r\n();", *at) == NULL) /* also finds the final NUL */
        at = *at == '"' ? skip_enclosed(at + 1, '"', '"') : at + 1;
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
        end = *start == '(' ? skip_enclosed(start + 1, '(', ')') : skip_word(start);
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

static bool is_this_word(const struct token *token, const char *word)
{
    return token->kind == TOKEN_WORD && token->length == strlen(word) &&
           strncasecmp(token->start, word, token->length) == 0;
}

/* Postfix changes other logins: it balances parentheses, and replaces unprintable characters by '?'. */
static bool is_plain_login(const char *login, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (login[i] <= ' ' || login[i] > '~' || strchr("()\\?", login[i]) != NULL)
            return false;
    return length > 0 && length <= LOGIN_MAX;
}

struct postfix_field {
    struct token comment;  /* the last one before "by"; TOKEN_END: none */
    struct token protocol; /* TOKEN_END: none */
    struct token id;
    const char *date;
};

static bool read_client(const char **at, struct token *ret_comment, struct token *ret_next)
{
    *ret_comment = (struct token){.kind = TOKEN_END};
    *ret_next = next_token(at);
    if (!is_this_word(ret_next, "from"))
        return true;
    if (next_token(at).kind != TOKEN_WORD)
        return false;
    while ((*ret_next = next_token(at)).kind == TOKEN_COMMENT)
        *ret_comment = *ret_next;
    return ret_comment->kind == TOKEN_COMMENT;
}

/* Postfix's have up to 20 letters and digits. */
static bool is_queue_id(const struct token *id)
{
    static const char items[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return id->kind == TOKEN_WORD && id->length <= QUEUE_ID_MAX && strspn(id->start, items) >= id->length;
}

/* After sendmail(1)'s ", from userid NUMBER" Postfix folds the field before "id". */
static bool read_field(const char *at, struct postfix_field *ret)
{
    struct token token;
    if (!read_client(&at, &ret->comment, &token) || !is_this_word(&token, "by") || next_token(&at).kind != TOKEN_WORD ||
        next_token(&at).kind != TOKEN_COMMENT)
        return false;
    ret->protocol = (struct token){.kind = TOKEN_END};
    token = next_token(&at);
    if (is_this_word(&token, "with")) {
        ret->protocol = next_token(&at);
        token = next_token(&at);
    }
    ret->id = next_token(&at);
    if (!is_this_word(&token, "id") || !is_queue_id(&ret->id))
        return false;
    token = next_token(&at);
    if (is_this_word(&token, "for") && next_token(&at).kind == TOKEN_WORD)
        token = next_token(&at);
    ret->date = at;
    return token.kind == TOKEN_SEMICOLON;
}

static bool read_topmost(const struct message *message, char **ret_text, struct postfix_field *ret)
{
    *ret_text = message_header(message, "Received");
    return *ret_text != NULL && read_field(*ret_text, ret);
}

static bool has_id(const struct postfix_field *field, const char *queue_id)
{
    return field->id.length == strlen(queue_id) && memcmp(field->id.start, queue_id, field->id.length) == 0;
}

void received_queue(const struct message *message, char **queue_id, int64_t *ret_time)
{
    char *text OD_CLEANUP(base_free) = NULL;
    struct postfix_field field;
    if (!read_topmost(message, &text, &field) || (*queue_id != NULL && !has_id(&field, *queue_id)))
        return;
    if (*queue_id == NULL)
        *queue_id = base_strndup(field.id.start, field.id.length);
    if (!decode_date(field.date, ret_time))
        *ret_time = 0;
}

/* RFC 3848, RFC 6531. */
static bool is_authenticated(const struct token *protocol)
{
    return is_this_word(protocol, "ESMTPA") || is_this_word(protocol, "ESMTPSA") ||
           is_this_word(protocol, "UTF8SMTPA") || is_this_word(protocol, "UTF8SMTPSA");
}

char *received_login(const struct message *message, const char *queue_id)
{
    static const char mark[] = "Authenticated sender: ";
    const size_t size = sizeof(mark) - 1;
    char *text OD_CLEANUP(base_free) = NULL;
    struct postfix_field field;
    if (!read_topmost(message, &text, &field) || (queue_id != NULL && !has_id(&field, queue_id)))
        return NULL;
    const struct token *comment = &field.comment;
    if (!is_authenticated(&field.protocol) || comment->kind != TOKEN_COMMENT || comment->length <= size ||
        memcmp(comment->start, mark, size) != 0 || !is_plain_login(comment->start + size, comment->length - size))
        return NULL;
    return base_strndup(comment->start + size, comment->length - size);
}

char *received_original(const struct message *message)
{
    const unsigned char *at = message->data, *end = message->data + message->header_size;
    struct message_field field;
    bool there = false;
    while (message_field_next(&at, end, &field)) {
        if (message_field_is(&field, "Received"))
            return there ? message_header(message, "X-Original-To") : NULL;
        there = there || message_field_is(&field, "X-Original-To");
    }
    return NULL;
}
