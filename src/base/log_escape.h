/* SPDX-License-Identifier: ISC
 *
 * Text of strangers in the log, on a terminal, and in JSON: shown without control characters, nor characters that change text
 * direction or are invisible (Unicode's Cf, Co, Cn, Zl and Zp). */
#ifndef ONCEDROP_LOG_ESCAPE_H
#define ONCEDROP_LOG_ESCAPE_H

#include "base/base.h"

/* What to escape in addition to such characters. */
enum log_escape {
    LOG_ESCAPE_LINE,   /* nothing: its parts are already escaped */
    LOG_ESCAPE_OUTPUT, /* the backslash */
    LOG_ESCAPE_TEXT,   /* the same, and what log_escape_text says */
    LOG_ESCAPE_FIELD,  /* the same, and what log_escape_field says */
};

/* Copies text to out[size], size > 0, for display: what is to be escaped, and bytes that are not UTF-8, as \ooo (octal), a
 * backslash as "\\\\". Always NUL-terminated, and cut only between characters. Returns how many bytes of text fitted. */
size_t log_escape_as(enum log_escape how, const char *text, char *out, size_t size);

/* Likewise, copies the first `length` bytes of text, as they stand in a string of JSON (RFC 8259): what is not to be shown as \uhhhh,
 * and each byte that is not UTF-8 as U+FFFD. */
size_t log_escape_json(const char *text, size_t length, char *out, size_t size);

/* LOG_ESCAPE_OUTPUT; size may be 0. Returns out. */
const char *log_escape(const char *text, char *out, size_t size);

/* The same for the value of one field of a recipient's log line. Also escapes '<', '>', a blank after a comma, and the
 * '=' after the name of such a field (log_field.h), so that a parser of the line finds each field exactly once. */
const char *log_escape_field(const char *text, char *out, size_t size);

/* The same for the text in parentheses at the end of that line: also escapes only that '=', and not the one of a field
 * that may stand there plainly (plain_in_text in log_field.c: uid= and mailbox=). */
const char *log_escape_text(const char *text, char *out, size_t size);

#endif
