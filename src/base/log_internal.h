/* SPDX-License-Identifier: ISC
 *
 * What the files of base/log*.c share. */
#ifndef ONCEDROP_LOG_INTERNAL_H
#define ONCEDROP_LOG_INTERNAL_H

#include <time.h>

#include "base/base.h"

/* log_field.c
 * The fields of a recipient's line in the log (log_line.c). No text of strangers may look like one of them (log_escape.h). */

enum log_field_name {
    LOG_FIELD_NONE, /* ends the fields of a line */
    LOG_FIELD_MESSAGE_ID,
    LOG_FIELD_TO,
    LOG_FIELD_FROM, /* the sender: of the Sent copy, which has no recipient, and of a refused MAIL */
    LOG_FIELD_ACCOUNT,
    LOG_FIELD_MAILBOX,
    LOG_FIELD_UID,
    LOG_FIELD_SIZE,
    LOG_FIELD_DELAY,
    LOG_FIELD_DELAYS,
    LOG_FIELD_DSN,
    LOG_FIELD_STATUS,
    LOG_FIELD_ORIG_TO, /* this and the next: only in Postfix's lines, which the same parser may read */
    LOG_FIELD_RELAY,
    LOG_FIELD_NAMES,
};

enum log_shape {
    LOG_WORD,     /* name=value; in JSON a string, like LOG_ENCLOSED */
    LOG_ENCLOSED, /* name=<value> */
    LOG_NUMBER,   /* name=value, which is a number of JSON, too */
};

struct log_field_row {
    const char *name;
    enum log_shape shape;
    bool plain_in_text; /* "name=" may stand in the text in parentheses, as in our own texts; false: it is escaped */
};

/* The row of a field. What is not in this table cannot be logged, so no field's name goes unescaped by mistake. */
const struct log_field_row *log_field_row(enum log_field_name name) OD_MUST;

/* log_time.c */

#define LOG_TIME_SIZE sizeof("2026-11-26T08:15:30.123Z")

/* Writes the moment (1970 to 9999) in UTC by ISO 8601. Async-signal-safe, unlike gmtime_r(3). */
void log_time(const struct timespec *moment, char out[LOG_TIME_SIZE]);

#endif
