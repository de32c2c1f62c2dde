/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_schema.h"

#include <glib.h>
#include <string.h>

#include "ledger/ledger_session.h"
#include "schema_sql.h"

#define SCHEMA_FILES (sizeof(schema_files) / sizeof(schema_files[0]))

int ledger_schema_needed(void)
{
    return schema_files[SCHEMA_FILES - 1].version;
}

bool ledger_schema_version(struct ledger *ledger, int *ret, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    bool sent = pg_add(ledger->pg, "SELECT max(version) FROM @schema@.schema_version", 0, NULL, fault) &&
                pg_send(ledger->pg, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_next(ledger->pg, fault) : NULL;
    const char *sqlstate = pg_sqlstate(ledger->pg);
    bool missing = result == NULL && (strcmp(sqlstate, "42P01") == 0 || strcmp(sqlstate, "3F000") == 0);
    pg_finish(ledger->pg);
    if (result == NULL && !missing)
        return false;
    *ret = missing ? 0 : (int)pg_int(result, 0, 0);
    return true;
}

/* The configuration allows only letters, digits and _ in the name, so it needs no quotes; they keep its case. */
static void fill_in(GString *sql, const char *schema)
{
    char *quoted OD_CLEANUP(base_free) = base_printf("\"%s\"", schema);
    char *role OD_CLEANUP(base_free) = base_printf("\"%s_delivery\"", schema);
    char *role_text OD_CLEANUP(base_free) = base_printf("'%s_delivery'", schema);
    g_string_replace(sql, "@schema@", quoted, 0);
    g_string_replace(sql, "@role@", role, 0);
    g_string_replace(sql, "@role_text@", role_text, 0);
}

char *ledger_schema_sql(const struct config *config, int from)
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

bool ledger_schema_upgrade(struct ledger *ledger, int *ret_from, struct fault *fault)
{
    int from;
    if (!ledger_schema_version(ledger, &from, fault))
        return false;
    if (from < ledger_schema_needed()) {
        char *sql OD_CLEANUP(base_free) = ledger_schema_sql(ledger->config, from);
        if (!pg_script(ledger->pg, sql, fault))
            return false;
    }
    *ret_from = from;
    return true;
}
