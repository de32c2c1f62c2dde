/* SPDX-License-Identifier: ISC
 *
 * The files of schema/ travel in the program (schema_sql.h, made by embed.sh). */
#include "ledger/ledger_schema.h"

#include <glib.h>
#include <string.h>

#include "ledger/ledger_session.h"
#include "schema_sql.h"

/* One installer at a time; any number will do that every installer knows: "oncedrop" in ASCII. */
#define INSTALLER_BEGIN "BEGIN; SELECT pg_catalog.pg_advisory_xact_lock(8029464472776241008)"
#define SCHEMA_FILES (sizeof(schema_files) / sizeof(schema_files[0]))

int ledger_schema_needed(void)
{
    return schema_files[SCHEMA_FILES - 1].version;
}

/* The first column of the only row, as a number. */
static bool ask(struct ledger *ledger, const char *sql, const char *param, int64_t *ret, struct fault *fault)
{
    const struct pg_param params[] = {{.data = param}};
    PGresult *result OD_CLEANUP(pg_clear) = ledger_ask_here(ledger, LEDGER_DELIVERY, sql, param != NULL, params, fault);
    if (result != NULL)
        *ret = pg_int(result, 0, 0);
    return result != NULL;
}

bool ledger_schema_version(struct ledger *ledger, int *ret, struct fault *fault)
{
    /* Not to_regclass: behind a lock it may answer from a cache that is older than the lock. */
    static const char table[] =
        "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
        " ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'schema_version'";
    int64_t there = 0, version = 0;
    if (!ledger_connect(ledger, fault) || !ask(ledger, table, ledger->config->database.schema, &there, fault))
        return false;
    if (there && !ask(ledger, "SELECT max(version) FROM @schema@.schema_version", NULL, &version, fault))
        return false;
    *ret = (int)version;
    return true;
}

bool ledger_schema_encoding(struct ledger *ledger, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) =
        ledger_ask(ledger, LEDGER_DELIVERY, "SELECT pg_catalog.current_setting('server_encoding')", 0, NULL, fault);
    if (result == NULL)
        return false;
    const char *encoding = PQgetvalue(result, 0, 0);
    if (strcmp(encoding, "UTF8") != 0)
        fault_set(fault,
                  "the database's encoding is %s and has to be UTF8, which cannot be changed: make another, with"
                  " createdb --template=template0 --encoding=UTF8",
                  encoding);
    return strcmp(encoding, "UTF8") == 0;
}

/* The configuration allows only letters, digits and _ in the name, so it needs no quotes; they keep its case. */
static void fill_in(GString *sql, const char *schema)
{
    char *quoted OD_CLEANUP(base_free) = base_printf("\"%s\"", schema);
    char *role OD_CLEANUP(base_free) = base_printf("\"%s_delivery\"", schema);
    char *role_text OD_CLEANUP(base_free) = base_printf("'%s_delivery'", schema);
    char *operator OD_CLEANUP(base_free) = base_printf("\"%s_operator\"", schema);
    char *operator_text OD_CLEANUP(base_free) = base_printf("'%s_operator'", schema);
    g_string_replace(sql, "@schema@", quoted, 0);
    g_string_replace(sql, "@role@", role, 0);
    g_string_replace(sql, "@role_text@", role_text, 0);
    g_string_replace(sql, "@operator@", operator, 0);
    g_string_replace(sql, "@operator_text@", operator_text, 0);
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

static bool upgrade(struct ledger *ledger, int *ret_from, struct fault *fault)
{
    int from;
    if (!pg_script(ledger->pg, INSTALLER_BEGIN, fault) || !ledger_schema_version(ledger, &from, fault))
        return false;
    if (from == 0 && !ledger_schema_encoding(ledger, fault))
        return false;
    if (from < ledger_schema_needed()) {
        char *sql OD_CLEANUP(base_free) = ledger_schema_sql(ledger->config, from);
        if (!pg_script(ledger->pg, sql, fault))
            return false;
    }
    if (!pg_script(ledger->pg, "COMMIT", fault))
        return false;
    *ret_from = from;
    return true;
}

bool ledger_schema_upgrade(struct ledger *ledger, int *ret_from, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    bool done = upgrade(ledger, ret_from, fault);
    if (!done)
        ledger_rollback(ledger);
    return done;
}
