/* SPDX-License-Identifier: ISC
 *
 * The log: syslog(3), facility mail, or stderr, there as text or as objects of JSON. What must not be shown is escaped
 * (log_escape.h), so that no message can forge a line. Every function preserves errno. */
#ifndef ONCEDROP_LOG_H
#define ONCEDROP_LOG_H

#include "base/config.h"
#include "base/log_escape.h"
#include "base/log_line.h"

/* Before log_open, warnings and errors go to syslog.
 *
 * to, format, level  from the configuration; syslog is text whatever `format` says
 * verbose            -v: one level more, and a copy to stderr_fd
 * stderr_fd          descriptor to use as stderr, or -1 if nothing may be written there (our caller would take it for our
 *                    answer); syslog is then used whatever `to` says */
void log_open(enum log_to to, enum log_format format, enum log_level level, bool verbose, int stderr_fd);

void log_error(const char *format, ...) OD_PRINTF(1, 2);
void log_warning(const char *format, ...) OD_PRINTF(1, 2);
void log_info(const char *format, ...) OD_PRINTF(1, 2);

/* Logs at any level: base/debug.h decides what is logged. */
void log_debug(const char *format, ...) OD_PRINTF(1, 2);

/* Whether the level is debug. */
bool log_shows_debug(void) OD_MUST;

/* At level info. In the text of the line `text` is in parentheses, escaped as by log_escape_text; in JSON it is the
 * message. */
void log_fields(const struct log_line *line, const char *text);

/* Keeps these lines for log_last, replacing any kept before. count 0 drops them. */
void log_keep(const struct log_line *lines, size_t count);

/* For signal handlers that end the process: log_fields for each of the kept lines. Async-signal-safe; does not wait for a
 * syslog daemon that does not read. text: needs no escape. */
void log_last(const char *text);

#endif
