/* SPDX-License-Identifier: ISC
 *
 * The log. */
#ifndef ONCEDROP_LOG_H
#define ONCEDROP_LOG_H

#include "base/base.h"
#include "base/config.h"
#include "base/log_escape.h"
#include "base/log_internal.h"

/* log_line.c */

#define LOG_FIELDS_MAX 11
#define LOG_JSON_MAX 4096 /* PIPE_BUF: lines of processes do not mix */

struct log_field {
    enum log_field_name name;
    const char *value;
};

struct log_line {
    const char *queue_id;
    struct log_field fields[LOG_FIELDS_MAX + 1]; /* ends with LOG_FIELD_NONE */
};

/* Returns a new string "QUEUE-ID: NAME=VALUE, NAME=<VALUE>". Values are escaped (log_escape_field) and limited: none
 * pushes another off the line. */
char *log_line_text(const struct log_line *line) OD_MUST;

/* Returns JSON members, each after a comma, with values truncated as in the text. A member without room is left out. */
char *log_line_members(const struct log_line *line) OD_MUST;

/* Writes a JSON object and line end to out[LOG_JSON_MAX]; returns its length. Always valid: the message is truncated.
 * members: of log_line_members, or "". */
size_t log_line_json(const char *level, const char *members, const char *message, char *out);

/* log.c
 * The log: syslog(3), facility mail, or stderr. Lines are escaped (log_escape.h): no message can forge one. Every
 * function preserves errno. */

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
