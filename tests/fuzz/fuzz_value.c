/* SPDX-License-Identifier: ISC
 *
 * Strangers' texts as values of SQL: valid UTF-8 of a limited length, and in a list, as JSON or as an array of PostgreSQL, each
 * comes back as it was sent. */
#include "fuzz.h"

#include <glib.h>
#include <jansson.h>

#include "sql/sql_value.h"

#define TEXTS_MAX 8

/* As sent. */
static char *sent(const char *text, size_t max)
{
    char *truncated = sql_value_truncate(text, max);

    if (truncated == NULL) {
        FUZZ_CHECK(strlen(text) <= max && g_utf8_validate(text, -1, NULL));
        return base_strdup(text);
    }
    FUZZ_CHECK(strlen(truncated) <= max && g_utf8_validate(truncated, -1, NULL));
    FUZZ_CHECK(!g_utf8_validate(text, -1, NULL) || strncmp(truncated, text, strlen(truncated)) == 0);
    FUZZ_CHECK(!g_utf8_validate(text, -1, NULL) || strlen(truncated) + 4 > max);
    return truncated;
}

/* Reads a quoted text of an array; returns what follows it. */
static const char *unquote(const char *at, GString *text)
{
    FUZZ_CHECK(*at == '"');
    for (at++; *at != '"'; at++) {
        at += *at == '\\';
        FUZZ_CHECK(*at != '\0');
        g_string_append_c(text, *at);
    }
    return at + 1;
}

static void check_array(const struct sql_value *list, char **wanted)
{
    char *array OD_CLEANUP(base_free) = sql_value_list(list, false);
    const char *at = array;

    FUZZ_CHECK(*at++ == '{');
    for (size_t i = 0; i < list->size; i++) {
        GString *text = g_string_new(NULL);

        FUZZ_CHECK(i == 0 || *at++ == ',');
        at = unquote(at, text);
        FUZZ_CHECK(strcmp(text->str, wanted[i]) == 0);
        g_string_free(text, TRUE);
    }
    FUZZ_CHECK(strcmp(at, "}") == 0);
}

static void check_json(const struct sql_value *list, char **wanted)
{
    char *text OD_CLEANUP(base_free) = sql_value_list(list, true);
    json_t *json = json_loads(text, 0, NULL);

    FUZZ_CHECK(json_is_array(json) && json_array_size(json) == list->size);
    for (size_t i = 0; i < list->size; i++)
        FUZZ_CHECK(strcmp(json_string_value(json_array_get(json, i)), wanted[i]) == 0);
    json_decref(json);
}

/* The input is cut at each newline. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    size_t max = fuzz_option(&input);
    char *text OD_CLEANUP(base_free) = fuzz_string(input.bytes, input.size);
    g_auto(GStrv) texts = g_strsplit(text, "\n", TEXTS_MAX);
    size_t count = g_strv_length(texts);
    g_auto(GStrv) wanted = g_new0(char *, count + 1);
    struct sql_value list = SQL_TEXTS((const char *const *)texts, count);
    char *limited OD_CLEANUP(base_free) = sent(text, max);

    FUZZ_CHECK(limited != NULL);
    for (size_t i = 0; i < count; i++)
        wanted[i] = sent(texts[i], SQL_TEXT_MAX);
    check_array(&list, wanted);
    check_json(&list, wanted);
    return 0;
}
