/* SPDX-License-Identifier: ISC
 *
 * The log: syslog(3), facility mail, or stderr. Control characters are escaped, so that no message can forge a line, and
 * so is what turns the direction of text or is not seen (Unicode's Cf, Co, Cn, Zl and Zp).
 * errno is kept across every call. */
#ifndef ONCEDROP_LOG_H
#define ONCEDROP_LOG_H

#include "base/config.h"

/* Before log_open, warnings and errors go to syslog.
 *
 * to, level  from the configuration
 * verbose    -v: one level more, and a copy to stderr_fd
 * stderr_fd  descriptor that stands for stderr, or -1 when nothing may be written there (the reader of our output
 *            would take it for our answer); then syslog is used whatever `to` says */
void log_open(enum log_to to, enum log_level level, bool verbose, int stderr_fd);

void log_error(const char *format, ...) OD_PRINTF(1, 2);
void log_warning(const char *format, ...) OD_PRINTF(1, 2);
void log_info(const char *format, ...) OD_PRINTF(1, 2);
void log_debug(const char *format, ...) OD_PRINTF(1, 2);

/* Keeps copies of the lines that log_last writes, of level info and without their ends, in place of those kept before;
 * count 0 drops them. */
void log_keep(const char *const *lines, size_t count);

/* For signal handlers that end the process: writes the lines kept, each followed by `end`. Async-signal-safe; a syslog
 * daemon that takes nothing is not waited for. */
void log_last(const char *end);

/* Copies text to out[size]: what the log escapes, and bytes that are no UTF-8, as \ooo (octal), "\\" as "\\\\"; always
 * NUL-terminated, cut at a whole character. Returns out. For whatever people are to see. */
const char *log_escape(const char *text, char *out, size_t size);

/* The same for the value of one field of the line for a recipient: with '<', '>', a blank behind a comma, and the '='
 * behind such a field's name as \ooo too, so that whoever takes the line apart finds each field once. */
const char *log_escape_field(const char *text, char *out, size_t size);

/* The same for the text in parentheses at that line's end: only that '=', and not that of uid= and mailbox=. */
const char *log_escape_text(const char *text, char *out, size_t size);

#endif
