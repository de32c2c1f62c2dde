/* SPDX-License-Identifier: ISC
 *
 * A line of the log about a message and one of its recipients, as text and as an object of JSON. */
#ifndef ONCEDROP_LOG_LINE_H
#define ONCEDROP_LOG_LINE_H

#include "base/base.h"
#include "base/log_field.h"

#define LOG_FIELDS_MAX 11
#define LOG_JSON_MAX 4096 /* PIPE_BUF: written at once, lines of several processes do not mix */

struct log_field {
    enum log_field_name name;
    const char *value;
};

struct log_line {
    const char *queue_id;
    struct log_field fields[LOG_FIELDS_MAX + 1]; /* ends with LOG_FIELD_NONE */
};

/* "QUEUE-ID: NAME=VALUE, NAME=<VALUE>", as a new string. Values are escaped as by log_escape_field, and each is limited, so
 * that a long one can only push off the line what comes behind the fields. */
char *log_line_text(const struct log_line *line) OD_MUST;

/* The same as members of an object, each after a comma: of a value is there what is in the text. */
char *log_line_members(const struct log_line *line) OD_MUST;

/* The line as an object, with its line end, at out[LOG_JSON_MAX]; returns its length. It is always valid: what does not fit
 * is cut off the message.
 *
 * level    its name
 * members  of log_line_members, or "" */
size_t log_line_json(const char *level, const char *members, const char *message, char *out);

#endif
