/* SPDX-License-Identifier: ISC
 *
 * The tokens of an IMAP response. */
#ifndef ONCEDROP_IMAP_TOKEN_H
#define ONCEDROP_IMAP_TOKEN_H

#include "base/base.h"

enum imap_token { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_ATOM, TOKEN_STRING };

/* A position in a response; `text` and `size` are those of the last atom or string. Strings are unquoted in place. */
struct imap_cursor {
    char *at;
    char *end;
    char *text;
    size_t size;
};

/* Whether the line ends with the announcement of a literal, "{n}". Not for status responses, whose text may end like
 * that. */
bool imap_token_literal(const char *line, size_t size, size_t *ret_literal, size_t *ret_start) OD_MUST;

/* Moves past the next token. TOKEN_END: there is none, or it is incomplete. */
enum imap_token imap_token_next(struct imap_cursor *cursor) OD_MUST;

/* Skips a value that begins with this token: an atom, a string, or a list of values. False: it is incomplete. */
bool imap_token_skip(struct imap_cursor *cursor, enum imap_token token) OD_MUST;

#endif
