/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_IMAP_TOKEN_H
#define ONCEDROP_IMAP_TOKEN_H

#include "base/base.h"

enum imap_token { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_ATOM, TOKEN_STRING };

/* A position in a response; `text` is the last atom or string, unquoted in place. */
struct imap_cursor {
    char *at;
    char *end;
    char *text;
    size_t size;
};

/* Returns whether the line ends with a literal's "{n}". Not for status responses, whose text may end so. */
bool imap_token_literal(const char *line, size_t size, size_t *ret_literal, size_t *ret_start) OD_MUST;

/* Moves past a token. TOKEN_END: none, or incomplete. */
enum imap_token imap_token_next(struct imap_cursor *cursor) OD_MUST;

/* Skips the value that begins with this token: atom, string or list. False: incomplete. */
bool imap_token_skip(struct imap_cursor *cursor, enum imap_token token) OD_MUST;

#endif
