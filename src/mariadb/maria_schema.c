/* SPDX-License-Identifier: ISC
 *
 * The files of schema/, compiled in (mariadb_schema.h). DDL commits, so each file is idempotent, and its version is
 * written last. */
#include "mariadb/maria.h"
#include "mariadb_schema.h"

#define FILES (sizeof(schema_files) / sizeof(schema_files[0]))
#define INSTALLER_LOCK "concat('oncedrop.schema.', DATABASE())"

int maria_schema_needed(void)
{
    return schema_files[FILES - 1].version;
}

const char *maria_schema_begin(bool alone)
{
    (void)alone; /* every server has the lock */
    return "SET SESSION sql_mode = 'ANSI,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';\n"
           "SET @refuse = CASE WHEN GET_LOCK(" INSTALLER_LOCK
           ", 20) THEN 'DO 0' ELSE 'SIGNAL SQLSTATE ''45000'' SET"
           " MESSAGE_TEXT = ''another process is installing or upgrading the ledger''' END;\n"
           "EXECUTE IMMEDIATE @refuse;\n";
}

char *maria_schema_sql(const struct config *config, int from)
{
    GString *sql = g_string_new(NULL);
    (void)config;
    for (size_t i = 0; i < FILES; i++)
        if (schema_files[i].version > from)
            g_string_append_printf(sql,
                                   "%s\nINSERT INTO schema_version (version) VALUES (%d)"
                                   " ON DUPLICATE KEY UPDATE version = schema_version.version;\n",
                                   schema_files[i].text, schema_files[i].version);
    return g_string_free(sql, FALSE);
}
