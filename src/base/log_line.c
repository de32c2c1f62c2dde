/* SPDX-License-Identifier: ISC */
#include "base/log.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_ID_MAX 128 /* of a value in the text, with NUL */
#define VALUE_MAX 384
#define MEMBERS_MAX 3800 /* room for the rest */
#define DAY 86400
#define DAY_1970 719163 /* 1970-01-01 by GDate */

static char *put_digits(char *at, int64_t value, int digits, char end)
{
    for (int i = digits - 1; i >= 0; i--, value /= 10)
        at[i] = (char)('0' + value % 10);
    at[digits] = end;
    return at + digits + 1;
}

void log_time(const struct timespec *moment, char out[LOG_TIME_SIZE])
{
    int64_t seconds = moment->tv_sec % DAY;
    GDate date; /* its functions only calculate */
    g_date_clear(&date, 1);
    g_date_set_julian(&date, (guint32)(DAY_1970 + moment->tv_sec / DAY));
    out = put_digits(out, g_date_get_year(&date), 4, '-');
    out = put_digits(out, g_date_get_month(&date), 2, '-');
    out = put_digits(out, g_date_get_day(&date), 2, 'T');
    out = put_digits(out, seconds / 3600, 2, ':');
    out = put_digits(out, seconds / 60 % 60, 2, ':');
    out = put_digits(out, seconds % 60, 2, '.');
    out = put_digits(out, moment->tv_nsec / 1000000, 3, 'Z');
    *out = '\0';
}

char *log_line_text(const struct log_line *line)
{
    char value[VALUE_MAX];
    GString *text = g_string_new(NULL);
    (void)log_escape_as(LOG_ESCAPE_FIELD, line->queue_id, value, QUEUE_ID_MAX);
    g_string_append_printf(text, "%s:", value);
    for (const struct log_field *field = line->fields; field->name != LOG_FIELD_NONE; field++) {
        const struct log_field_row *row = log_field_row(field->name);
        bool enclosed = row->shape == LOG_ENCLOSED;
        (void)log_escape_as(LOG_ESCAPE_FIELD, field->value, value, sizeof(value));
        g_string_append_printf(text, "%s%s=%s%s%s", field == line->fields ? " " : ", ", row->name, enclosed ? "<" : "",
                               value, enclosed ? ">" : "");
    }
    return g_string_free(text, FALSE);
}

/* JSON is at most twice as long as text. */
static void add_member(GString *members, const char *name, enum log_shape shape, const char *text, size_t size)
{
    char shown[VALUE_MAX], value[2 * VALUE_MAX];
    const char *quote = shape == LOG_NUMBER ? "" : "\"";
    size_t before = members->len, length = log_escape_as(LOG_ESCAPE_FIELD, text, shown, size);
    (void)log_escape_json(text, length, value, sizeof(value));
    g_string_append_printf(members, ",\"%s\":%s%s%s", name, quote, value, quote);
    if (members->len > MEMBERS_MAX)
        g_string_truncate(members, before);
}

char *log_line_members(const struct log_line *line)
{
    GString *members = g_string_new(NULL);
    add_member(members, "queue-id", LOG_WORD, line->queue_id, QUEUE_ID_MAX);
    for (const struct log_field *field = line->fields; field->name != LOG_FIELD_NONE; field++) {
        const struct log_field_row *row = log_field_row(field->name);
        add_member(members, row->name, row->shape, field->value, VALUE_MAX);
    }
    return g_string_free(members, FALSE);
}

size_t log_line_json(const char *level, const char *members, const char *message, char *out)
{
    static const char cut[] = "...", end[] = "\"}\n";
    char when[LOG_TIME_SIZE];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    log_time(&now, when);
    size_t length = strlen(message);
    size_t used = (size_t)snprintf(out, LOG_JSON_MAX, "{\"time\":\"%s\",\"level\":\"%s\",\"pid\":%ld%s,\"message\":\"",
                                   when, level, (long)getpid(), members);
    bool complete = log_escape_json(message, length, out + used, LOG_JSON_MAX - used - strlen(cut) - strlen(end)) ==
                    length;
    used += strlen(out + used);
    return used + (size_t)snprintf(out + used, LOG_JSON_MAX - used, "%s%s", complete ? "" : cut, end);
}
