/* SPDX-License-Identifier: ISC
 *
 * Quoted strings, literals and atoms (RFC 3501, 9). */
#include "mailbox/mailbox_token.h"

#include <string.h>

#include "mailbox/mailbox_reply.h"

static enum mailbox_token quoted_token(struct mailbox_cursor *cursor)
{
    char *out = cursor->text = ++cursor->at;
    for (; cursor->at < cursor->end; cursor->at++) {
        if (*cursor->at == '"') {
            cursor->at++;
            cursor->size = (size_t)(out - cursor->text);
            return TOKEN_STRING;
        }
        if (*cursor->at == '\\' && cursor->at + 1 < cursor->end)
            cursor->at++;
        *out++ = *cursor->at;
    }
    return TOKEN_END;
}

static enum mailbox_token literal_token(struct mailbox_cursor *cursor)
{
    char *brace = memchr(cursor->at, '}', (size_t)(cursor->end - cursor->at));
    size_t size, start;
    if (brace == NULL || !mailbox_reply_literal(cursor->at, (size_t)(brace + 1 - cursor->at), &size, &start) ||
        cursor->end - brace < 3 || brace[1] != '\r' || brace[2] != '\n' || (size_t)(cursor->end - brace - 3) < size)
        return TOKEN_END;
    cursor->text = brace + 3;
    cursor->size = size;
    cursor->at = cursor->text + size;
    return TOKEN_STRING;
}

static enum mailbox_token atom_token(struct mailbox_cursor *cursor)
{
    int depth = 0; /* BODY[HEADER.FIELDS (MESSAGE-ID)] is one atom */
    cursor->text = cursor->at;
    for (; cursor->at < cursor->end; cursor->at++) {
        char c = *cursor->at;
        if (depth == 0 && (c == ' ' || c == '(' || c == ')'))
            break;
        depth += c == '[';
        depth -= c == ']' && depth > 0;
    }
    cursor->size = (size_t)(cursor->at - cursor->text);
    return TOKEN_ATOM;
}

enum mailbox_token mailbox_token_next(struct mailbox_cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at == ' ')
        cursor->at++;
    if (cursor->at == cursor->end)
        return TOKEN_END;
    switch (*cursor->at) {
    case '(':
        cursor->at++;
        return TOKEN_OPEN;
    case ')':
        cursor->at++;
        return TOKEN_CLOSE;
    case '"':
        return quoted_token(cursor);
    case '{':
        return literal_token(cursor);
    case '~': /* literal8 (RFC 3516), or an atom, such as a mailbox's name */
        return cursor->end - cursor->at > 1 && cursor->at[1] == '{' ? literal_token(cursor) : atom_token(cursor);
    default:
        return atom_token(cursor);
    }
}

bool mailbox_token_skip(struct mailbox_cursor *cursor, enum mailbox_token token)
{
    int depth = 0;
    for (;; token = mailbox_token_next(cursor)) {
        depth += token == TOKEN_OPEN;
        depth -= token == TOKEN_CLOSE;
        if (token == TOKEN_END || depth < 0)
            return false;
        if (depth == 0)
            return true;
    }
}
