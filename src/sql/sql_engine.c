/* SPDX-License-Identifier: ISC */
#include "sql/sql_engine.h"

#include <string.h>

enum sql_failure sql_failure(const struct sql_failure_code *failures, const struct error *error)
{
    while (failures->code != NULL && strcmp(failures->code, error->code) != 0)
        failures++;
    return failures->failure;
}

static void append_hint(struct error *error, const char *before, const char *hint, const char *after)
{
    const struct error was = *error;
    if (hint == NULL || strstr(error->text, hint) != NULL)
        return;
    error_set(error, "%s%s%s%s", was.text, before, hint, after);
    memcpy(error->code, was.code, sizeof(was.code));
}

void sql_add_hint(const struct sql_engine *engine, const struct config *config, const char *role, struct error *error)
{
    char *hint OD_CLEANUP(base_free) = engine->hint(config, role, error);
    append_hint(error, " (", hint, ")");
}

void sql_add_login_hint(const struct sql_engine *engine, const struct config *config, const char *role,
                        struct error *error)
{
    char *command OD_CLEANUP(base_free) = engine->login_command != NULL ? engine->login_command(config, error) : NULL;
    if (command != NULL)
        append_hint(error, ERROR_HINT, command, "");
    else
        sql_add_hint(engine, config, role, error);
}

char *sql_nth_host(const struct sql_engine *engine, const struct config *config, size_t n, char **ret_name)
{
    return engine->nth_host != NULL ? engine->nth_host(config, n, ret_name) : NULL;
}

char *sql_with_schema(const struct config *config, const char *text)
{
    GString *all = g_string_new(text);
    g_string_replace(all, "%s", config->database.schema, 0);
    return g_string_free(all, FALSE);
}

char *sql_schema(const struct sql_engine *engine, const struct config *config, int from)
{
    GString *sql = g_string_new(NULL);
    for (const struct sql_schema_file *file = engine->schema; file->text != NULL; file++)
        if (file->version > from)
            g_string_append_printf(sql, "%s\nINSERT INTO @schema@.schema_version (version) VALUES (%d)%s;\n",
                                   file->text, file->version, engine->schema_again);
    for (const struct sql_schema_mark *mark = engine->schema_marks; mark->mark != NULL; mark++) {
        char *text OD_CLEANUP(base_free) = sql_with_schema(config, mark->text);
        g_string_replace(sql, mark->mark, text, 0);
    }
    return g_string_free(sql, FALSE);
}
