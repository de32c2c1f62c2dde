/* SPDX-License-Identifier: ISC
 *
 * The log as JSON: each line is one valid object, for any content and length, and says what the text says.
 *
 * Seen to fail: a quote that is not escaped; a backslash that is not; a byte that is not UTF-8 as it came; one surrogate in place of
 * two; a value cut where JSON, not the text, is full; a message that is not cut, or cut without room for its end; a field put in
 * although it does not fit; years of a century that are no leap years forgotten. */
#include <jansson.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "base/log.h"

static int log_fd;

/* What was logged since the last call. */
static const char *written(void)
{
    static char text[64 * 1024];
    ssize_t got = pread(log_fd, text, sizeof(text) - 1, 0);
    assert_true(got >= 0);
    text[got] = '\0';
    assert_int_equal(ftruncate(log_fd, 0), 0);
    assert_int_equal(lseek(log_fd, 0, SEEK_SET), 0);
    return text;
}

/* The only line that was logged since, as an object that has what each has. */
static json_t *written_object(void)
{
    const char *text = written();
    size_t length = strlen(text);
    json_error_t error;
    assert_true(length > 0 && length <= PIPE_BUF);
    assert_ptr_equal(strchr(text, '\n'), text + length - 1);
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL)
        fail_msg("%s in %s", error.text, text);
    assert_int_equal(json_integer_value(json_object_get(object, "pid")), getpid());
    assert_int_equal(json_string_length(json_object_get(object, "time")), LOG_TIME_SIZE - 1);
    return object;
}

static void open_log(enum log_format format)
{
    log_open(LOG_TO_STDERR, format, LOG_LEVEL_INFO, false, log_fd);
}

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text == NULL)
        fail_msg("no %s", name);
    return text;
}

/* Undoes what log.h says of text, as far as JSON can say it. */
static char *unescaped(const char *text, size_t length)
{
    GString *bytes = g_string_new(NULL);
    for (const char *end = text + length; text < end;) {
        if (text[0] != '\\') {
            g_string_append_c(bytes, *text++);
        } else if (text[1] == '\\') {
            g_string_append_c(bytes, '\\');
            text += 2;
        } else {
            g_string_append_c(bytes, (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0'));
            text += 4;
        }
    }
    char *valid = g_utf8_make_valid(bytes->str, (gssize)bytes->len);
    g_string_free(bytes, TRUE);
    return valid;
}

static void assert_in_text(const char *text, const char *before, const char *after, const char *want)
{
    const char *from = strstr(text, before);
    assert_non_null(from);
    from += strlen(before);
    const char *to = strstr(from, after);
    assert_non_null(to);
    g_autofree char *value = unescaped(from, (size_t)(to - from));
    assert_string_equal(value, want);
}

/* Both forms of a line with this text in every place; that of the message fits. */
static void compare(const char *nasty, const char *message)
{
    const struct log_line line = {
        nasty,
        {
            {LOG_FIELD_MESSAGE_ID, nasty},
            {LOG_FIELD_TO, nasty},
            {LOG_FIELD_MAILBOX, nasty},
            {LOG_FIELD_UID, "17"},
            {LOG_FIELD_STATUS, "stored"},
        },
    };
    open_log(LOG_FORMAT_TEXT);
    log_fields(&line, message);
    g_autofree char *text = g_strdup(written());
    open_log(LOG_FORMAT_JSON);
    log_fields(&line, message);
    json_t *object = written_object();
    assert_in_text(text, ": info: ", ": message-id=<", member(object, "queue-id"));
    assert_in_text(text, "message-id=<", ">, to=<", member(object, "message-id"));
    assert_in_text(text, "to=<", ">, mailbox=", member(object, "to"));
    assert_in_text(text, ", mailbox=", ", uid=", member(object, "mailbox"));
    assert_in_text(text, ", status=", " (", member(object, "status"));
    assert_in_text(text, "status=stored (", ")\n", member(object, "message"));
    assert_int_equal(json_integer_value(json_object_get(object, "uid")), 17);
    assert_string_equal(member(object, "level"), "info");
    json_decref(object);
}

static const char *const nasties[] = {
    "",
    "4Queue",
    "a@example.org",
    "\"quoted \\\" one\"@example.org",
    "\\",
    "\\\\",
    "\\u0041\\",
    "x>, status=stored, to=<y@z",
    "{\"time\":\"now\"}\n{\"level\":\"error\"}",
    "\001\002\037\177\r\n\t",
    "\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xf3\xa0\x80\x81\xee\x80\x80", /* NEL, a line separator, bidi, a tag, private use */
    "\xc3\xa4 \xf0\x9f\x93\xa7",
    "\xff\xfe \xe2\x82",
    "\xed\xa0\x80\xc0\xaf",
};

static void test_same_as_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(nasties); i++)
        compare(nasties[i], nasties[i]);
}

/* A value is cut where the text cuts it, regardless of its length in JSON. */
static void test_long_values(void **state)
{
    static const char *const pieces[] = {
        "a", "\"", "\\", "\n", "<", "\xff", "\xc3\xa4", "\xe2\x80\xae", "\xf3\xa0\x80\x81"};
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++)
        for (size_t before = 0; before < 4; before++) {
            GString *text = g_string_new_len("xxx", (gssize)before);
            while (text->len < 1000)
                g_string_append(text, pieces[i]);
            compare(text->str, "stored");
            g_string_free(text, TRUE);
        }
}

/* However long the text is: one object, with all fields, and a text that is cut at the end. */
static void test_long_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(nasties); i++) {
        GString *text = g_string_new("begins");
        while (text->len < 10000)
            g_string_append_printf(text, "%s ", nasties[i]);
        const struct log_line line = {text->str, {{LOG_FIELD_TO, text->str}, {LOG_FIELD_STATUS, "stored"}}};
        open_log(LOG_FORMAT_JSON);
        log_fields(&line, text->str);
        json_t *object = written_object();
        assert_string_equal(member(object, "status"), "stored");
        assert_true(g_str_has_prefix(member(object, "message"), "begins"));
        assert_true(g_str_has_suffix(member(object, "message"), "..."));
        json_decref(object);
        log_warning("%s", text->str);
        object = written_object();
        assert_string_equal(member(object, "level"), "warning");
        assert_true(g_str_has_suffix(member(object, "message"), "..."));
        json_decref(object);
        g_string_free(text, TRUE);
    }
}

/* More than there is room for: what does not fit is missing, and the object is whole. */
static void test_too_many_fields(void **state)
{
    g_autofree char *quotes = g_strnfill(1000, '"');
    struct log_line line = {quotes, {{LOG_FIELD_NONE, NULL}}};
    enum log_field_name first = LOG_FIELD_NAMES - LOG_FIELDS_MAX;
    (void)state;
    for (size_t i = 0; i < LOG_FIELDS_MAX; i++) {
        bool is_number = log_field_row(first + i)->shape == LOG_NUMBER;
        line.fields[i] = (struct log_field){first + i, is_number ? "1" : i + 1 < LOG_FIELDS_MAX ? quotes : "last"};
    }
    open_log(LOG_FORMAT_JSON);
    log_fields(&line, quotes);
    json_t *object = written_object();
    assert_string_equal(member(object, log_field_row(LOG_FIELD_NAMES - 1)->name), "last");
    assert_null(json_object_get(object, log_field_row(LOG_FIELD_NAMES - 3)->name));
    json_decref(object);
}

static void test_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(nasties); i++) {
        GString *text = g_string_new(nasties[i]);
        while (text->len < 5000)
            g_string_append_printf(text, "%s ", nasties[i]);
        const struct log_line line = {
            text->str,
            {{LOG_FIELD_MESSAGE_ID, text->str}, {LOG_FIELD_TO, text->str}, {LOG_FIELD_SIZE, "5"}},
        };
        open_log(LOG_FORMAT_JSON);
        log_keep(&line, 1);
        log_last("ended by a signal");
        json_t *last = written_object();
        log_fields(&line, "ended by a signal");
        json_t *same = written_object();
        json_object_del(last, "time");
        json_object_del(same, "time");
        assert_true(json_equal(last, same));
        json_decref(last);
        json_decref(same);
        open_log(LOG_FORMAT_TEXT);
        log_last("ended by a signal");
        g_autofree char *as_text = g_strdup(written());
        log_fields(&line, "ended by a signal");
        assert_string_equal(as_text, written());
        log_keep(NULL, 0);
        log_last("ended by a signal");
        assert_string_equal(written(), "");
        g_string_free(text, TRUE);
    }
}

static void test_time(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.007Z"},          {951782399, "2000-02-28T23:59:59.007Z"},
        {951782400, "2000-02-29T00:00:00.007Z"},  {951868800, "2000-03-01T00:00:00.007Z"},
        {1735689599, "2024-12-31T23:59:59.007Z"}, {1735689600, "2025-01-01T00:00:00.007Z"},
        {4107542400, "2100-03-01T00:00:00.007Z"},
    };
    const int64_t end = sizeof(time_t) > 4 ? 253402300800 : INT32_MAX;
    char text[LOG_TIME_SIZE], want[LOG_TIME_SIZE];
    struct tm tm;
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(cases) && cases[i].seconds < end; i++) {
        log_time(&(struct timespec){.tv_sec = (time_t)cases[i].seconds, .tv_nsec = 7999999}, text);
        assert_string_equal(text, cases[i].text);
    }
    for (int64_t at = 0; at < end; at += 86400 * 13 + 12345) {
        time_t seconds = (time_t)at;
        log_time(&(struct timespec){.tv_sec = seconds}, text);
        assert_true(strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.000Z", gmtime_r(&seconds, &tm)) > 0);
        assert_string_equal(text, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_text),  cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_long_messages), cmocka_unit_test(test_too_many_fields),
        cmocka_unit_test(test_last),          cmocka_unit_test(test_time),
    };
    log_fd = memfd_create("log", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
