/* SPDX-License-Identifier: ISC
 *
 * A batch: steps are executed at once, their results are kept by mark. Whatever writes has the writer's lock from before its
 * first statement until its transaction has ended. */
#include <string.h>

#include "sqlite/lite.h"

/* With more pages in the write-ahead log it is written back, for whoever opens the file reads all of it, unless somebody has
 * the file open: a session that is kept. */
#define LOG_PAGES 150
#define LOG_PAGES_KEPT 1000
#define KEPT_AFTER 16 /* transactions: then a session is one that is kept */

struct prepared {
    sqlite3_stmt *statement;
    size_t length; /* of its text, which others may follow */
};

static void free_prepared(gpointer prepared)
{
    struct prepared *it = prepared;
    sqlite3_finalize(it->statement);
    base_free(&it);
}

static void free_result(gpointer result)
{
    struct sql_rows *rows = result;
    sql_rows_free(&rows);
}

void lite_batch_begin(struct sql_session *lite)
{
    lite->statements = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_prepared);
    lite->results = g_ptr_array_new_with_free_func(free_result);
    lite->unlocks = g_array_new(FALSE, FALSE, sizeof(int64_t));
}

/* The first statement of the text. NULL with the fault set. */
static const struct prepared *prepare(struct sql_session *lite, const char *sql, struct fault *fault)
{
    struct prepared *prepared = g_hash_table_lookup(lite->statements, sql);
    sqlite3_stmt *statement;
    const char *tail;
    if (prepared != NULL)
        return prepared;
    int error = sqlite3_prepare_v3(lite->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, &tail);
    if (error != SQLITE_OK) {
        lite_fail(lite, error, fault);
        return NULL;
    }
    prepared = base_alloc(sizeof(*prepared));
    *prepared = (struct prepared){.statement = statement, .length = (size_t)(tail - sql)};
    g_hash_table_insert(lite->statements, g_strdup(sql), prepared);
    return prepared;
}

/* Writes what the log has back into the file. If that fails, the log only grows, and the next COMMIT tries again. */
static void write_back(struct sql_session *lite)
{
    if (lite->log_pages > (lite->transactions > KEPT_AFTER ? LOG_PAGES_KEPT : LOG_PAGES))
        (void)sqlite3_wal_checkpoint_v2(lite->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    lite->log_pages = 0;
}

/* Once no transaction is open, others may write. */
static void end_writing(struct sql_session *lite)
{
    if (!lite->writes || !sqlite3_get_autocommit(lite->db))
        return;
    lite->transactions++;
    write_back(lite);
    lite_unlock_writer(lite);
}

/* Whether a statement only ends a transaction, and there is none: PostgreSQL takes that, SQLite does not. */
static bool ends_nothing(struct sql_session *lite, const char *sql)
{
    return sqlite3_get_autocommit(lite->db) && (strcmp(sql, "ROLLBACK") == 0 || strcmp(sql, "COMMIT") == 0);
}

/* Whether a statement writes into the file, and not only into a table of this connection. */
static bool writes(sqlite3_stmt *statement)
{
    const char *sql = sqlite3_sql(statement);
    return !sqlite3_stmt_readonly(statement) && !g_str_has_prefix(sql, "INSERT INTO temp.") &&
           !g_str_has_prefix(sql, "DELETE FROM temp.") && !g_str_has_prefix(sql, "CREATE TEMPORARY TABLE ");
}

static struct sql_rows *execute(struct sql_session *lite, sqlite3_stmt *statement, const char *gives, size_t count,
                                const struct sql_value *values, struct fault *fault)
{
    if (writes(statement) && !lite_lock_writer(lite, fault))
        return NULL;
    struct sql_rows *rows = NULL;
    if (lite_bind(statement, count, values))
        rows = lite_run(lite, statement, gives, fault);
    else
        lite_fail(lite, sqlite3_extended_errcode(lite->db), fault);
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return rows;
}

/* All statements of a text; the rows of the last. */
static struct sql_rows *execute_all(struct sql_session *lite, const char *sql, const char *gives, size_t count,
                                    const struct sql_value *values, struct fault *fault)
{
    struct sql_rows *rows = sql_rows_new(0, 0);
    while (rows != NULL && *sql != '\0' && !ends_nothing(lite, sql)) {
        const struct prepared *prepared = prepare(lite, sql, fault);
        sql_rows_free(&rows);
        if (prepared == NULL)
            break;
        sql += prepared->length;
        sql += strspn(sql, " \n");
        rows = execute(lite, prepared->statement, *sql == '\0' ? gives : "", count, values, fault);
    }
    return rows;
}

/* A transaction of which a statement has failed cannot go on: what its other statements did must not be committed. */
static void give_up(struct sql_session *lite)
{
    struct fault ignored;
    if (!sqlite3_get_autocommit(lite->db)) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = execute_all(lite, "ROLLBACK", "", 0, NULL, &ignored);
        lite->lost = lite->lost || rows == NULL;
    }
}

/* Whether a text of the site's own is one statement that only reads, as PostgreSQL makes sure of. */
static bool is_query(struct sql_session *lite, const char *sql, struct fault *fault)
{
    const struct prepared *prepared = prepare(lite, sql, fault);
    if (prepared == NULL)
        return false;
    if (sql[prepared->length + strspn(sql + prepared->length, " \t\r\n")] != '\0')
        return fault_set(fault, "database: more than one statement");
    return sqlite3_stmt_readonly(prepared->statement) || fault_set(fault, "database: a statement that writes");
}

/* A text of the site's own, which reads the file of the site's own, if there is one. */
static struct sql_rows *run_query(struct sql_session *lite, const char *sql, size_t count,
                                  const struct sql_value *values, struct fault *fault)
{
    struct sql_session *session = lite->accounts != NULL ? lite_accounts_open(lite->accounts, fault) : lite;
    return session != NULL && is_query(session, sql, fault) ? execute_all(session, sql, "", count, values, fault)
                                                            : NULL;
}

/* gives: NULL for a text of the site's own. */
static struct sql_rows *run(struct sql_session *lite, const char *sql, const char *gives, size_t count,
                            const struct sql_value *values, struct fault *fault)
{
    if (lite->lost) {
        fault_set(fault, "database: %s cannot be used any more", lite->path);
        return NULL;
    }
    struct sql_rows *rows = gives != NULL ? execute_all(lite, sql, gives, count, values, fault)
                                          : run_query(lite, sql, count, values, fault);
    if (rows == NULL) {
        lite->lost = lite->lost || strcmp(sql, "COMMIT") == 0; /* what is on the disk is not known */
        give_up(lite);
    }
    end_writing(lite);
    if (sqlite3_get_autocommit(lite->db))
        lite_unlock_given_back(lite, rows != NULL && strcmp(sql, "ROLLBACK") != 0);
    if (sqlite3_get_autocommit(lite->db) && lite->lost)
        lite_unlock_all(lite); /* it may be long until it is closed */
    return rows;
}

void lite_add(struct sql_session *lite, const char *sql, const char *gives, size_t count,
              const struct sql_value *values)
{
    lite->added++;
    if (lite->failed)
        return;
    struct sql_rows *rows = run(lite, sql, gives, count, values, &lite->fault);
    lite->failed = rows == NULL;
    if (rows != NULL)
        g_ptr_array_add(lite->results, rows);
}

/* What could not be executed is said when it is taken. */
bool lite_send(struct sql_session *lite, struct fault *fault)
{
    (void)lite;
    (void)fault;
    return true;
}

size_t lite_mark(const struct sql_session *lite)
{
    return lite->added;
}

bool lite_passed(struct sql_session *lite, size_t mark, struct fault *fault)
{
    if (mark <= lite->results->len)
        return true;
    if (!lite->told)
        *fault = lite->fault;
    lite->told = true;
    return false;
}

struct sql_rows *lite_take(struct sql_session *lite, size_t mark, struct fault *fault)
{
    return lite_passed(lite, mark + 1, fault) ? g_steal_pointer(&lite->results->pdata[mark]) : NULL;
}

bool lite_finish(struct sql_session *lite)
{
    g_ptr_array_set_size(lite->results, 0);
    lite->added = 0;
    lite->failed = lite->told = false;
    return !lite->lost;
}

bool lite_script(struct sql_session *lite, const char *sql, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = run(lite, sql, "", 0, NULL, fault);
    return rows != NULL;
}
