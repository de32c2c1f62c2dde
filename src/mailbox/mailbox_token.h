/* SPDX-License-Identifier: ISC
 *
 * The tokens of an IMAP response. */
#ifndef ONCEDROP_MAILBOX_TOKEN_H
#define ONCEDROP_MAILBOX_TOKEN_H

#include "base/base.h"

enum mailbox_token { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_ATOM, TOKEN_STRING };

/* A position in a response; `text` and `size` are those of the last atom or string. Strings are unquoted in place. */
struct mailbox_cursor {
    char *at;
    char *end;
    char *text;
    size_t size;
};

/* Moves past the next token. TOKEN_END: there is none, or it is incomplete. */
enum mailbox_token mailbox_token_next(struct mailbox_cursor *cursor) OD_MUST;

/* Skips a value that begins with this token: an atom, a string, or a list of values. False: it is incomplete. */
bool mailbox_token_skip(struct mailbox_cursor *cursor, enum mailbox_token token) OD_MUST;

#endif
