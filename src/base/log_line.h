/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_LOG_LINE_H
#define ONCEDROP_LOG_LINE_H

#include "base/base.h"
#include "base/log_field.h"

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

#endif
