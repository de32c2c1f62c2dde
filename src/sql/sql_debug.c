/* SPDX-License-Identifier: ISC */
#include "sql/sql_engine.h"

#include <glib.h>
#include <string.h>

#include "base/log.h"

#define VALUE_MAX 100  /* bytes */
#define ITEMS_MAX 10   /* of a list */
#define ERROR_MAX 1024 /* bytes */

static void describe_text(GString *line, const char *text)
{
    char shown[VALUE_MAX];
    if (text == NULL) {
        g_string_append(line, "NULL");
        return;
    }
    bool complete = text[log_escape_as(LOG_ESCAPE_TEXT, text, shown, sizeof(shown))] == '\0';
    g_string_append_printf(line, "'%s'%s", shown, complete ? "" : "...");
}

static void describe_list(GString *line, const struct sql_value *list)
{
    g_string_append_c(line, '{');
    for (size_t i = 0; i < list->size && i < ITEMS_MAX; i++) {
        g_string_append(line, i > 0 ? " " : "");
        if (list->kind == SQL_KIND_TEXTS)
            describe_text(line, list->texts[i]);
        else
            g_string_append_printf(line, "%lld", (long long)list->numbers[i]);
    }
    g_string_append(line, list->size > ITEMS_MAX ? " ...}" : "}");
}

static void describe_value(GString *line, const struct sql_value *value, bool is_content)
{
    switch (value->kind) {
    case SQL_KIND_TEXT:
        if (is_content)
            g_string_append_printf(line, "of %zu bytes", strlen(value->text));
        else
            describe_text(line, value->text);
        break;
    case SQL_KIND_BYTES:
        g_string_append_printf(line, "of %zu bytes", value->size);
        break;
    case SQL_KIND_TEXTS:
    case SQL_KIND_NUMBERS:
        if (is_content)
            g_string_append_printf(line, "of %zu items", value->size);
        else
            describe_list(line, value);
        break;
    case SQL_KIND_NUMBER:
        g_string_append_printf(line, "%lld", (long long)value->number);
        break;
    case SQL_KIND_BOOL:
        g_string_append(line, value->boolean ? "true" : "false");
        break;
    case SQL_KIND_NONE:
    case SQL_KIND_FORGOTTEN:
        g_string_append(line, "NULL");
        break;
    }
}

void sql_debug_opened(const struct sql_engine *engine, const struct config *config, bool opened,
                      const struct error *error)
{
    char text[ERROR_MAX];
    char *conninfo OD_CLEANUP(base_free) = config_conninfo_shown(config->database.conninfo);
    char where[ERROR_MAX];
    log_escape_text(conninfo, where, sizeof(where));
    if (opened)
        debug_line("sql: connected to %s, %s", engine->name, where);
    else
        debug_line("sql: not connected to %s, %s: %s", engine->name, where,
                   log_escape_text(error->text, text, sizeof(text)));
}

void sql_debug_added(const struct sql_step_text *step, const struct sql_value *values)
{
    g_autoptr(GString) line = g_string_new(NULL);
    g_auto(GStrv) names = g_strsplit(step->names != NULL ? step->names : "", " ", -1);
    for (size_t i = 0; i < step->params && names[i] != NULL; i++) {
        char *mark = strchr(names[i], ':');
        if (mark != NULL)
            *mark = '\0';
        g_string_append_printf(line, "%s%s ", i > 0 ? ", " : " (", names[i]);
        describe_value(line, &values[i], mark != NULL);
    }
    debug_line("sql: %s%s%s", step->name, line->str, line->len > 0 ? ")" : "");
}

void sql_debug_added_text(const struct sql_value *value)
{
    g_autoptr(GString) line = g_string_new(NULL);
    describe_value(line, value, false);
    debug_line("sql: route.account_query ($1 %s)", line->str);
}

void sql_debug_result(const char *name, const struct sql_rows *rows, int64_t us)
{
    g_autoptr(GString) line = g_string_new(NULL);
    if (rows == NULL)
        g_string_append(line, "done");
    else if (rows->columns > 0)
        g_string_append_printf(line, "%zu %s", rows->count, rows->count == 1 ? "row" : "rows");
    else
        g_string_append_printf(line, "%lld changed", (long long)rows->changed);
    if (us >= 0)
        g_string_append_printf(line, ", %lld us", (long long)us);
    debug_line("sql: %s: %s", name, line->str);
}

void sql_debug_failed(const char *name, const struct error *error)
{
    char text[ERROR_MAX];
    debug_line("sql: %s: failed: %s", name, log_escape_text(error->text, text, sizeof(text)));
}
