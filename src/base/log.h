/* SPDX-License-Identifier: ISC
 *
 * The log. */
#ifndef ONCEDROP_LOG_H
#define ONCEDROP_LOG_H

#include <time.h>

#include "base/base.h"
#include "base/config.h"

/* log_escape.c
 * Escapes foreign text for log, terminal and JSON: characters that are controls, are invisible, or change text
 * direction (Unicode Cf, Co, Cn, Zl, Zp). No text of strangers may look like a field of a recipient's line. */

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

/* Like log_escape, for that line's text in parentheses: also escapes that '=', except of a field that is plain_in_text. */
const char *log_escape_text(const char *text, char *out, size_t size);

/* log_line.c */

#define LOG_TIME_SIZE sizeof("2026-11-26T08:15:30.123Z")

/* Writes the moment (1970 to 9999) in UTC by ISO 8601. Async-signal-safe, unlike gmtime_r(3). */
void log_time(const struct timespec *moment, char out[LOG_TIME_SIZE]);

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
 * The log: syslog(3), facility mail, or stderr. Lines are escaped (log_escape.c): no message can forge one. Every
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

/* Ignores the level: debug.c decides. */
void log_debug(const char *format, ...) OD_PRINTF(1, 2);

bool log_shows_debug(void) OD_MUST;

/* Logs at level info. text: in parentheses, escaped by log_escape_text; in JSON, the message. */
void log_fields(const struct log_line *line, const char *text);

/* Keeps these lines for log_last, replacing any; count 0: none. */
void log_keep(const struct log_line *lines, size_t count);

/* Logs the kept lines, like log_fields, in a signal handler that ends the process. Async-signal-safe; never waits.
 * text needs no escape. */
void log_last(const char *text);

/* debug.c
 * The debug log: IMAP dialogue and SQL steps, of all accounts at log.level = debug, else of log.debug_accounts. Its
 * lines ignore log.level. Callers test debug_imap or debug_sql first: if off, nothing else is computed. */

/* Set by debug.c only. */
extern bool debug_imap; /* of some accounts or all */
extern bool debug_sql;

/* Call it after log_open. accounts: log.debug_accounts. */
void debug_open(const char *accounts);

/* Begins a delivery; its lines begin with queue_id, if known. */
void debug_begin(const char *queue_id);

/* If log.debug_accounts has this address or account (NULL: unknown), logs the delivery's steps and the account's
 * dialogue until debug_end. Call it again when the account is known. */
void debug_concerns(const char *address, const char *account);

void debug_end(void);

/* Returns true if its dialogue is logged. */
bool debug_account(const char *account) OD_MUST;

/* Logs a line. Escape foreign text by log_escape_text: no line may look like a recipient's. */
void debug_line(const char *format, ...) OD_PRINTF(1, 2);

#endif
