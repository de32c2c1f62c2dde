/* SPDX-License-Identifier: ISC
 *
 * The log: syslog(3), facility mail, or stderr. Control characters are escaped, so that no message can forge a line.
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

/* Copies text to out[size], control characters and bytes that are no UTF-8 as \ooo (octal), "\\" as "\\\\"; always
 * NUL-terminated, cut at a whole character. Returns out. For one field of a log line. */
const char *log_escape(const char *text, char *out, size_t size);

#endif
