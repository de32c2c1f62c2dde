/* SPDX-License-Identifier: ISC
 *
 * What a session is, and must be. */
#include "mariadb/maria.h"

/* Whatever the server's defaults are, or init_connect has set. The last statement gives what maria_is_durable reads. */
static const char settings[] =
    "SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', sql_mode ="
    " 'ANSI,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', character_set_client = utf8mb4, character_set_results = utf8mb4,"
    " collation_connection = utf8mb4_nopad_bin, time_zone = '+00:00', foreign_key_checks = 1, unique_checks = 1, sql_select_limit = DEFAULT, group_concat_max_len = 1048576;\n"
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;\n"
    "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin AND @@sync_binlog <> 1";

/* The same where there may be a cluster: a statement on one node sees what was committed on another before. Not every server
 * has the variable. */
static const char settings_of_cluster[] =
    "SET @cluster = CASE WHEN EXISTS (SELECT 1 FROM information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME ="
    " 'WSREP_SYNC_WAIT') THEN 'SET SESSION wsrep_sync_wait = 7' ELSE 'DO 0' END;\n"
    "EXECUTE IMMEDIATE @cluster;\n";

char *maria_set_up(const struct sql_session *maria)
{
    return base_printf("%s%s", maria->cluster ? settings_of_cluster : "", settings);
}

bool maria_is_durable(const struct sql_rows *rows, struct fault *fault)
{
    int64_t flush = rows->count == 1 && rows->columns == 2 ? sql_number(rows, 0, 0) : 0;
    const char *remedy =
        "mail could be lost in a power cut after it was reported as delivered. Set it on the server, or, if"
        " you know better, [database] durability = server";
    if (flush != 1 && flush != 3)
        return fault_set(fault,
                         "database: a COMMIT is not on the disk when it is answered, unless"
                         " innodb_flush_log_at_trx_commit = 1: %s",
                         remedy);
    return sql_number(rows, 0, 1) == 0 ||
           fault_set(fault,
                     "database: with a binary log a COMMIT may be undone after a crash, unless sync_binlog = 1: %s",
                     remedy);
}

static void free_rows(gpointer rows)
{
    struct sql_rows *it = rows;
    sql_rows_free(&it);
}

struct sql_session *maria_session_new(const struct config *config)
{
    struct sql_session *maria = base_alloc(sizeof(*maria));
    maria->any_durability = config->database.durability == DATABASE_DURABILITY_SERVER;
    maria->cluster = config->lock.method == LOCK_METHOD_LEASE; /* no other is possible there */
    maria->named_locks = config->lock.method == LOCK_METHOD_SESSION;
    maria->timeout_ms = SQL_TIMEOUT_MS;
    maria->receive_max = MARIA_RECEIVE_MAX;
    maria->text = g_string_new(NULL);
    maria->group = g_string_new(NULL);
    maria->settings = g_string_new(NULL);
    maria->released = g_string_new(NULL);
    maria->answers = g_array_new(FALSE, FALSE, sizeof(struct maria_answer));
    maria->results = g_ptr_array_new_with_free_func(free_rows);
    return maria;
}

void maria_session_free(struct sql_session *maria)
{
    g_string_free(maria->text, TRUE);
    g_string_free(maria->group, TRUE);
    g_string_free(maria->settings, TRUE);
    g_string_free(maria->released, TRUE);
    g_array_unref(maria->answers);
    g_ptr_array_unref(maria->results);
    base_free(&maria);
}
