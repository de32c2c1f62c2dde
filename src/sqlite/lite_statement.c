/* SPDX-License-Identifier: ISC
 *
 * Statements, prepared once per connection. */
#include <string.h>
#include <unistd.h>

#include "sqlite/lite.h"

struct prepared {
    sqlite3_stmt *statement;
    size_t length; /* of its text; more may follow */
    bool writes;   /* to the file, not only to a temporary table */
};

static void free_prepared(gpointer prepared)
{
    struct prepared *it = prepared;
    sqlite3_finalize(it->statement);
    base_free(&it);
}

/* The process has one thread, and does not use the statistics. */
static void configure_library(void)
{
    static bool configured;
    if (!configured) {
        (void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
        (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        (void)sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1); /* savepoints: in memory */
    }
    configured = true;
}

struct sql_session *lite_session_new(const char *path)
{
    configure_library();
    struct sql_session *lite = base_alloc(sizeof(*lite));
    lite->path = base_strdup(path);
    lite->statements = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_prepared);
    g_queue_init(&lite->results);
    lite->unlocks = g_array_new(FALSE, FALSE, sizeof(int64_t));
    return lite;
}

void lite_session_end(struct sql_session *lite)
{
    g_hash_table_remove_all(lite->statements);
    (void)sqlite3_close(lite->db);
    lite->db = NULL;
}

void lite_session_free(struct sql_session *lite)
{
    if (lite->watch != 0)
        close(lite->watch);
    lite_session_end(lite);
    g_hash_table_destroy(lite->statements);
    g_queue_clear_full(&lite->results, sql_rows_drop);
    g_array_unref(lite->unlocks);
    base_free(&lite->path);
    base_free(&lite);
}

static bool writes(sqlite3_stmt *statement)
{
    const char *sql = sqlite3_sql(statement);
    return !sqlite3_stmt_readonly(statement) && !g_str_has_prefix(sql, "INSERT INTO temp.") &&
           !g_str_has_prefix(sql, "DELETE FROM temp.") && !g_str_has_prefix(sql, "CREATE TEMPORARY TABLE ");
}

/* Prepares the first statement of the text. */
static const struct prepared *prepare(struct sql_session *lite, const char *sql, struct error *error)
{
    struct prepared *prepared = g_hash_table_lookup(lite->statements, sql);
    sqlite3_stmt *statement;
    const char *tail;
    if (prepared != NULL)
        return prepared;
    int rc = sqlite3_prepare_v3(lite->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, &tail);
    if (rc != SQLITE_OK) {
        lite_fail(lite, rc, error);
        return NULL;
    }
    prepared = base_alloc(sizeof(*prepared));
    *prepared = (struct prepared){statement, (size_t)(tail - sql), writes(statement)};
    g_hash_table_insert(lite->statements, g_strdup(sql), prepared);
    return prepared;
}

/* Returns whether a COMMIT or ROLLBACK has no transaction, which SQLite does not accept. */
static bool ends_nothing(struct sql_session *lite, const char *sql)
{
    return sqlite3_get_autocommit(lite->db) && (strcmp(sql, "ROLLBACK") == 0 || strcmp(sql, "COMMIT") == 0);
}

static struct sql_rows *execute(struct sql_session *lite, const struct prepared *prepared, const char *column_kinds,
                                size_t count, const struct sql_value *values, struct error *error)
{
    sqlite3_stmt *statement = prepared->statement;
    if (prepared->writes && !lite_lock_writer(lite, error))
        return NULL;
    struct sql_rows *rows = NULL;
    if (lite_bind(statement, count, values))
        rows = lite_run(lite, statement, column_kinds, error);
    else
        lite_fail(lite, sqlite3_extended_errcode(lite->db), error);
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return rows;
}

struct sql_rows *lite_execute(struct sql_session *lite, const char *sql, const char *column_kinds, size_t count,
                              const struct sql_value *values, struct error *error)
{
    struct sql_rows *rows = sql_rows_new(0);
    while (rows != NULL && *sql != '\0' && !ends_nothing(lite, sql)) {
        const struct prepared *prepared = prepare(lite, sql, error);
        sql_rows_free(&rows);
        if (prepared == NULL)
            break;
        sql += prepared->length;
        sql += strspn(sql, " \n");
        rows = execute(lite, prepared, *sql == '\0' ? column_kinds : "", count, values, error);
    }
    return rows;
}

/* Returns NULL if there is no parameter but $1. */
static const char *other_parameter(sqlite3_stmt *statement)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++) {
        const char *name = sqlite3_bind_parameter_name(statement, i);
        if (name == NULL || (strcmp(name, "$1") != 0 && strcmp(name, "?1") != 0))
            return name != NULL ? name : "?";
    }
    return NULL;
}

bool lite_is_query(struct sql_session *lite, const char *sql, struct error *error)
{
    const struct prepared *prepared = prepare(lite, sql, error);
    if (prepared == NULL)
        return false;
    const char *other = other_parameter(prepared->statement);
    if (other != NULL)
        return error_set(error, "it has a parameter %s; the only one is $1, the address", other);
    if (sql[prepared->length + strspn(sql + prepared->length, " \t\r\n")] != '\0')
        return error_set(error, "it must be one statement");
    return sqlite3_stmt_readonly(prepared->statement) || error_set(error, "it must not write");
}
