/* SPDX-License-Identifier: ISC
 *
 * The log: syslog(3), facility mail, or stderr. Lines are escaped (log_escape.h): no message can forge one. Every
 * function preserves errno. */
#ifndef ONCEDROP_LOG_H
#define ONCEDROP_LOG_H

#include "base/config.h"
#include "base/log_escape.h"
#include "base/log_line.h"

/* Opens the log; before, warnings and errors go to syslog.
 *
 * format     of stderr; syslog is text
 * verbose    -v: one level more, and a copy to stderr_fd
 * stderr_fd  -1: none, since the caller would read it as our reply; syslog is used */
void log_open(enum log_to to, enum log_format format, enum log_level level, bool verbose, int stderr_fd);

void log_error(const char *format, ...) OD_PRINTF(1, 2);
void log_warning(const char *format, ...) OD_PRINTF(1, 2);
void log_info(const char *format, ...) OD_PRINTF(1, 2);

/* Ignores the level: base/debug.h decides. */
void log_debug(const char *format, ...) OD_PRINTF(1, 2);

bool log_shows_debug(void) OD_MUST;

/* Logs at level info. text: in parentheses, escaped by log_escape_text; in JSON, the message. */
void log_fields(const struct log_line *line, const char *text);

/* Keeps these lines for log_last, replacing any; count 0: none. */
void log_keep(const struct log_line *lines, size_t count);

/* Logs the kept lines, like log_fields, in a signal handler that ends the process. Async-signal-safe; never waits.
 * text needs no escape. */
void log_last(const char *text);

#endif
