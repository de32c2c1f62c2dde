/* SPDX-License-Identifier: ISC
 *
 * Sets up a session, and checks it. */
#include "mariadb/maria.h"

/* Overrides the server's defaults and init_connect. @cluster: a node of a Galera cluster. A server built without
 * Galera lacks these variables (error 1193). */
static const char settings[] =
    "SET SESSION sql_mode = 'ANSI,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1, completion_type ="
    " 'NO_CHAIN', character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection ="
    " utf8mb4_nopad_bin, time_zone = '+00:00', foreign_key_checks = 1, unique_checks = 1, check_constraint_checks = 1,"
    " sql_safe_updates = 0, sql_big_selects = 1, sql_auto_is_null = 0, sql_select_limit = DEFAULT,"
    " group_concat_max_len = 1048576, @cluster = FALSE;\n"
    "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1193 BEGIN END;"
    " SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    " EXECUTE IMMEDIATE 'SET @cluster = @@wsrep_on AND @@wsrep_provider <> ''none'''; %sEND;\n"
    "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin AND @@sync_binlog <> 1, @cluster";

/* A statement on a node sees what another node committed before. */
static const char settings_of_cluster[] = "EXECUTE IMMEDIATE 'SET SESSION wsrep_sync_wait = 7'; ";

char *maria_set_up(const struct sql_session *maria)
{
    return base_printf(settings, maria->method == LOCK_METHOD_LEASE ? settings_of_cluster : "");
}

bool maria_is_durable(const struct sql_rows *rows, struct error *error)
{
    int64_t flush = rows->count == 1 && rows->columns >= 2 ? sql_number(rows, 0, 0) : 0;
    const char *hint =
        "mail could be lost in a power cut after it was reported as delivered; set it on the server, or set"
        " database.durability = server";
    if (flush != 1 && flush != 3)
        return error_set(error,
                         "database: a COMMIT is not on the disk when it is answered, unless"
                         " innodb_flush_log_at_trx_commit = 1: %s",
                         hint);
    return sql_number(rows, 0, 1) == 0 ||
           error_set(error,
                     "database: with a binary log a COMMIT may be undone after a crash, unless sync_binlog = 1: %s",
                     hint);
}

bool maria_is_suitable(const struct sql_session *maria, const struct sql_rows *rows, struct error *error)
{
    if (rows->count != 1 || rows->columns != 3)
        return error_set(error, "database: the server does not say how it is set up");
    if (sql_number(rows, 0, 2) != 0 && maria->method != LOCK_METHOD_LEASE)
        return error_set(error,
                         "database: the server is a node of a Galera cluster, whose nodes do not exclude each other by"
                         " lock.method = %s: set lock.method = lease on all hosts, then run: oncedrop ledger method",
                         maria->method == LOCK_METHOD_ROW ? "row" : "session");
    return maria->any_durability || maria_is_durable(rows, error);
}

struct sql_session *maria_session_new(const struct config *config)
{
    struct sql_session *maria = base_alloc(sizeof(*maria));
    maria->any_durability = config->database.durability == DATABASE_DURABILITY_SERVER;
    maria->method = config->lock.method;
    maria->timeout_ms = SQL_TIMEOUT_MS;
    maria->receive_max = MARIA_RECEIVE_MAX;
    maria->text = g_string_new(NULL);
    maria->group = g_string_new(NULL);
    maria->guarded_prepare = g_string_new(NULL);
    maria->settings = g_string_new(NULL);
    maria->recipient = g_string_new(NULL);
    maria->prepared = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    maria->released = g_string_new(NULL);
    maria->replies = g_array_new(FALSE, FALSE, sizeof(struct maria_result));
    g_queue_init(&maria->results);
    return maria;
}

void maria_session_free(struct sql_session *maria)
{
    g_string_free(maria->text, TRUE);
    g_string_free(maria->group, TRUE);
    g_string_free(maria->guarded_prepare, TRUE);
    g_string_free(maria->settings, TRUE);
    g_string_free(maria->recipient, TRUE);
    g_hash_table_destroy(maria->prepared);
    g_string_free(maria->released, TRUE);
    g_array_unref(maria->replies);
    g_queue_clear_full(&maria->results, sql_rows_drop);
    base_free(&maria);
}
