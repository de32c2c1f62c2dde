/* SPDX-License-Identifier: ISC
 *
 * Escapes foreign text for log, terminal and JSON: characters that are controls, are invisible, or change text
 * direction (Unicode Cf, Co, Cn, Zl, Zp). */
#ifndef ONCEDROP_LOG_ESCAPE_H
#define ONCEDROP_LOG_ESCAPE_H

#include "base/base.h"

/* What else to escape. */
enum log_escape {
    LOG_ESCAPE_LINE,   /* nothing: parts are escaped */
    LOG_ESCAPE_OUTPUT, /* backslash */
    LOG_ESCAPE_TEXT,   /* as log_escape_text */
    LOG_ESCAPE_FIELD,  /* as log_escape_field */
};

/* Copies text to out[size], size > 0; escapes characters, and bytes that are not UTF-8, as \ooo (octal), a backslash
 * as "\\\\". Always NUL-terminated, and truncated between characters. Returns how many bytes of text fitted. */
size_t log_escape_as(enum log_escape how, const char *text, char *out, size_t size);

/* Like log_escape_as, for `length` bytes in a JSON string (RFC 8259): escapes characters as \uhhhh, bytes that are
 * not UTF-8 as U+FFFD. */
size_t log_escape_json(const char *text, size_t length, char *out, size_t size);

/* LOG_ESCAPE_OUTPUT; size may be 0. Returns out. */
const char *log_escape(const char *text, char *out, size_t size);

/* Like log_escape, for a field of a recipient's log line: also escapes '<', '>', a blank after a comma, and '='
 * after a field's name. A parser then finds each field once. */
const char *log_escape_field(const char *text, char *out, size_t size);

/* Like log_escape, for that line's text in parentheses: also escapes that '=', except of a field that is plain_in_text (log_field.c). */
const char *log_escape_text(const char *text, char *out, size_t size);

#endif
