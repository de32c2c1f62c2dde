/* SPDX-License-Identifier: ISC
 *
 * The log: syslog(3), facility mail, or stderr. Control characters are escaped, so that no message can forge a line; so
 * are characters that change text direction or are invisible (Unicode's Cf, Co, Cn, Zl and Zp). Every function
 * preserves errno. */
#ifndef ONCEDROP_LOG_H
#define ONCEDROP_LOG_H

#include "base/config.h"

/* Before log_open, warnings and errors go to syslog.
 *
 * to, level  from the configuration
 * verbose    -v: one level more, and a copy to stderr_fd
 * stderr_fd  descriptor to use as stderr, or -1 if nothing may be written there (our caller would take it for our
 *            answer); syslog is then used whatever `to` says */
void log_open(enum log_to to, enum log_level level, bool verbose, int stderr_fd);

void log_error(const char *format, ...) OD_PRINTF(1, 2);
void log_warning(const char *format, ...) OD_PRINTF(1, 2);
void log_info(const char *format, ...) OD_PRINTF(1, 2);

/* Keeps copies of these lines for log_last, without line ends and at level info, replacing any kept before. count 0
 * drops them. */
void log_keep(const char *const *lines, size_t count);

/* For signal handlers that end the process: writes the kept lines, each followed by `end`. Async-signal-safe; does not
 * wait for a syslog daemon that does not read. */
void log_last(const char *end);

/* Copies text to out[size], for display: everything that the log escapes, and bytes that are not UTF-8, as \ooo
 * (octal), a backslash as "\\\\". Always NUL-terminated, and cut only between characters. Returns out. */
const char *log_escape(const char *text, char *out, size_t size);

/* The same for the value of one field of a recipient's log line. Also escapes '<', '>', a blank after a comma, and the
 * '=' after the name of such a field, so that a parser of the line finds each field exactly once. */
const char *log_escape_field(const char *text, char *out, size_t size);

/* The same for the text in parentheses at the end of that line: also escapes only that '=', but not the one of uid= and
 * mailbox=. */
const char *log_escape_text(const char *text, char *out, size_t size);

#endif
