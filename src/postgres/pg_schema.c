/* SPDX-License-Identifier: ISC
 *
 * The files of schema/, compiled in (postgres_schema.h). */
#include "postgres/pg_schema.h"

#include <glib.h>

#include "postgres_schema.h"
#include "sql/sql.h"

/* search_path as in other transactions (macro safe_path); views and defaults keep theirs. */
#define BEGIN \
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;\n" \
    "SET LOCAL search_path = pg_catalog, pg_temp;\n"

/* One installer at a time. The number is "oncedrop" in ASCII. */
#define INSTALLER_LOCK "SELECT pg_catalog.pg_advisory_xact_lock(8029464472776241008)"

#define SCHEMA_FILES (sizeof(schema_files) / sizeof(schema_files[0]))

int pg_schema_needed(void)
{
    return schema_files[SCHEMA_FILES - 1].version;
}

const char *pg_schema_begin(bool alone)
{
    return alone ? BEGIN INSTALLER_LOCK : BEGIN;
}

/* The name has only letters, digits and _; quotes preserve case. */
static void fill_in(GString *sql, const char *schema)
{
    static const char *const marks[][2] = {
        {"@schema@", "\"%s\""},
        {"@role@", "\"%s_" SQL_DELIVERY "\""},
        {"@role_text@", "'%s_" SQL_DELIVERY "'"},
        {"@operator@", "\"%s_" SQL_OPERATOR "\""},
        {"@operator_text@", "'%s_" SQL_OPERATOR "'"},
    };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        GString *name = g_string_new(marks[i][1]);
        g_string_replace(name, "%s", schema, 1);
        g_string_replace(sql, marks[i][0], name->str, 0);
        g_string_free(name, TRUE);
    }
}

char *pg_schema_sql(const struct config *config, int from)
{
    GString *sql = g_string_new(NULL);
    for (size_t i = 0; i < SCHEMA_FILES; i++) {
        if (schema_files[i].version <= from)
            continue;
        g_string_append(sql, schema_files[i].text);
        g_string_append_printf(sql, "\nINSERT INTO @schema@.schema_version (version) VALUES (%d);\n",
                               schema_files[i].version);
    }
    fill_in(sql, config->database.schema);
    return g_string_free(sql, FALSE);
}
