/* SPDX-License-Identifier: ISC
 *
 * The files of schema/, compiled in (sqlite_schema.h). */
#include "sqlite/lite.h"
#include "sqlite_schema.h"

#define FILES (sizeof(schema_files) / sizeof(schema_files[0]))

int lite_schema_needed(void)
{
    return schema_files[FILES - 1].version;
}

const char *lite_schema_begin(bool alone)
{
    (void)alone; /* every writer is */
    return "BEGIN IMMEDIATE;\n";
}

char *lite_schema_sql(const struct config *config, int from)
{
    GString *sql = g_string_new(NULL);
    (void)config;
    for (size_t i = 0; i < FILES; i++)
        if (schema_files[i].version > from)
            g_string_append_printf(sql, "%s\nINSERT INTO @schema@.schema_version (version) VALUES (%d);\n",
                                   schema_files[i].text, schema_files[i].version);
    g_string_replace(sql, "@schema@", "main", 0);
    return g_string_free(sql, FALSE);
}
