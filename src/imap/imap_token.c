/* SPDX-License-Identifier: ISC */
#include "imap/imap_internal.h"

#include <stdlib.h>
#include <string.h>

bool imap_token_literal(const char *line, size_t size, size_t *ret_literal, size_t *ret_start)
{
    if (size < 3 || line[size - 1] != '}')
        return false;
    size_t start = size - 1;
    while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9')
        start--;
    size_t digits = size - 1 - start;
    if (digits == 0 || digits > 15 || start == 0 || line[start - 1] != '{')
        return false;
    unsigned long long literal = strtoull(line + start, NULL, 10);
    *ret_literal = literal < SIZE_MAX ? (size_t)literal : SIZE_MAX;
    *ret_start = start - 1;
    return true;
}

static enum imap_token quoted_token(struct imap_cursor *cursor)
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

static enum imap_token literal_token(struct imap_cursor *cursor)
{
    char *brace = memchr(cursor->at, '}', (size_t)(cursor->end - cursor->at));
    size_t size, start;
    if (brace == NULL || !imap_token_literal(cursor->at, (size_t)(brace + 1 - cursor->at), &size, &start) ||
        cursor->end - brace < 3 || brace[1] != '\r' || brace[2] != '\n' || (size_t)(cursor->end - brace - 3) < size)
        return TOKEN_END;
    cursor->text = brace + 3;
    cursor->size = size;
    cursor->at = cursor->text + size;
    return TOKEN_STRING;
}

static enum imap_token atom_token(struct imap_cursor *cursor)
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

enum imap_token imap_token_next(struct imap_cursor *cursor)
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
    case '~': /* literal8 (RFC 3516), or an atom */
        return cursor->end - cursor->at > 1 && cursor->at[1] == '{' ? literal_token(cursor) : atom_token(cursor);
    default:
        return atom_token(cursor);
    }
}

bool imap_token_skip(struct imap_cursor *cursor, enum imap_token token)
{
    int depth = 0;
    for (;; token = imap_token_next(cursor)) {
        depth += token == TOKEN_OPEN;
        depth -= token == TOKEN_CLOSE;
        if (token == TOKEN_END || depth < 0)
            return false;
        if (depth == 0)
            return true;
    }
}
