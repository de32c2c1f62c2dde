/* SPDX-License-Identifier: ISC
 *
 * A batch of steps. */
#include <string.h>

#include "sqlite/lite.h"

/* With more pages in the write-ahead log a checkpoint is due: opening the file reads all of them, unless another
 * session has it open. */
#define LOG_PAGES 150
#define LOG_PAGES_KEPT 1000
#define KEPT_AFTER 16 /* transactions: then a session counts as reused */

/* Runs a checkpoint if it is due. If that fails, the next COMMIT retries. */
static void write_back(struct sql_session *lite)
{
    struct error ignored;
    int file = lite_lock_file();
    bool due = lite->log_pages > (lite->transactions > KEPT_AFTER ? LOG_PAGES_KEPT : LOG_PAGES);
    lite->log_pages = 0;
    if (!due || !lite_files_unchanged(lite, file, &ignored) || !lite_files_forget(file))
        return;
    (void)sqlite3_wal_checkpoint_v2(lite->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    lite_files_record(lite->path, file);
}

/* Releases the writer's lock once no transaction is open. */
static void end_writing(struct sql_session *lite)
{
    if (!lite->writes || lite->grouped || !sqlite3_get_autocommit(lite->db))
        return;
    lite->transactions++;
    write_back(lite);
    lite_unlock_writer(lite);
}

/* Rolls back: after an error nothing of the transaction may be committed. SQLite may have rolled back all of a group's
 * (sqlite.org/lang_transaction.html). */
static void undo(struct sql_session *lite)
{
    struct error ignored;
    lite->lost = lite->lost || (lite->grouped && sqlite3_get_autocommit(lite->db));
    if (!sqlite3_get_autocommit(lite->db)) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
            lite_execute(lite, lite->grouped ? "ROLLBACK TO member" : "ROLLBACK", "", 0, NULL, &ignored);
        lite->lost = lite->lost || rows == NULL;
    }
}

/* Uses route.account_file if it is set. */
static struct sql_rows *run_query(struct sql_session *lite, const char *sql, size_t count,
                                  const struct sql_value *values, struct error *error)
{
    struct sql_session *session = lite->accounts != NULL ? lite_accounts_open(lite->accounts, error) : lite;
    return session != NULL && lite_is_query(session, sql, error) ? lite_execute(session, sql, "", count, values, error)
                                                                 : NULL;
}

static struct sql_rows *run(struct sql_session *lite, const char *sql, const char *column_kinds, size_t count,
                            const struct sql_value *values, struct error *error)
{
    if (lite->lost) {
        error_set(error, "database: %s cannot be used any more", lite->path);
        return NULL;
    }
    struct sql_rows *rows = column_kinds != NULL ? lite_execute(lite, sql, column_kinds, count, values, error)
                                                 : run_query(lite, sql, count, values, error);
    if (rows == NULL) {
        lite->lost = lite->lost || strcmp(sql, "COMMIT") == 0; /* whether it committed is unknown */
        undo(lite);
    }
    end_writing(lite);
    if (sqlite3_get_autocommit(lite->db))
        lite_unlock_released(lite, rows != NULL && strcmp(sql, "ROLLBACK") != 0);
    if (sqlite3_get_autocommit(lite->db) && lite->lost)
        lite_unlock_all(lite); /* it may stay open for long */
    return rows;
}

bool lite_end_group(struct sql_session *lite)
{
    lite->grouped = false;
    end_writing(lite);
    return !lite->lost;
}

/* The texts number the values themselves (macro value); most have no line that depends on one. */
void lite_add_step(struct sql_session *lite, const struct sql_step_text *step, const struct sql_value *values)
{
    struct sql_value none[SQL_VALUES_MAX];
    size_t no_count;
    char *rendered OD_CLEANUP(base_free) =
        strchr(step->text, SQL_TEXT_IF) != NULL ? sql_text_render(step->text, values, none, &no_count) : NULL;
    lite_add(lite, rendered != NULL ? rendered : step->text, step->column_kinds, step->params, values);
}

void lite_add(struct sql_session *lite, const char *sql, const char *column_kinds, size_t count,
              const struct sql_value *values)
{
    if (lite->failed)
        return;
    struct sql_rows *rows = run(lite, sql, column_kinds, count, values, &lite->error);
    lite->failed = rows == NULL;
    if (rows != NULL)
        g_queue_push_tail(&lite->results, rows);
}

struct sql_rows *lite_next(struct sql_session *lite, struct error *error)
{
    struct sql_rows *rows = g_queue_pop_head(&lite->results);
    if (rows == NULL)
        *error = lite->error;
    return rows;
}

bool lite_finish(struct sql_session *lite)
{
    g_queue_clear_full(&lite->results, sql_rows_drop);
    lite->failed = false;
    return !lite->lost;
}

bool lite_script(struct sql_session *lite, const char *sql, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = run(lite, sql, "", 0, NULL, error);
    return rows != NULL;
}
