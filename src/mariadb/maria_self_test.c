/* SPDX-License-Identifier: ISC
 *
 * Self-tests for administrators. */
#include <string.h>

#include "mariadb/maria.h"

static struct sql_rows *ask_row(const struct config *config, const char *text, struct error *error)
{
    struct sql_session *maria = maria_open(config, "oncedrop check", error);
    struct sql_rows *rows = NULL;
    if (maria == NULL)
        return NULL;
    maria_add(maria, text, 1, "");
    if (maria_send(maria, error))
        rows = maria_next(maria, error);
    maria_close(maria);
    return rows;
}

static enum sql_self_test test_durability(const struct config *config, struct error *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ask_row(config, "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin AND @@sync_binlog <> 1", ret);
    if (rows == NULL)
        return SQL_SELF_TEST_FAILED;
    if (!maria_is_durable(rows, ret))
        return SQL_SELF_TEST_WARNING; /* only with database.durability = server */
    error_set(ret, "a COMMIT is on the disk when it is answered (innodb_flush_log_at_trx_commit)");
    return SQL_SELF_TEST_OK;
}

/* The longest statement has a References field of 1 MiB: 12 MiB as JSON in hexadecimal. */
static enum sql_self_test test_packet(const struct config *config, struct error *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ask_row(config, "SELECT @@max_allowed_packet", ret);
    if (rows == NULL)
        return SQL_SELF_TEST_FAILED;
    int64_t max = sql_number(rows, 0, 0);
    bool good = max >= INT64_C(16) << 20;
    error_set(ret, "max_allowed_packet = %lld%s", (long long)max,
              good ? "" : ": some messages cannot be recorded, and are deferred; set it to 16M");
    return good ? SQL_SELF_TEST_OK : SQL_SELF_TEST_FAILED;
}

/* In a cluster, GET_LOCK and row locks are each node's own. */
static enum sql_self_test test_cluster(const struct config *config, struct error *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ask_row(config, "SELECT @cluster", ret);
    if (rows == NULL)
        return SQL_SELF_TEST_FAILED; /* deliveries fail with this error, too */
    error_set(ret, "%s",
              sql_number(rows, 0, 0) == 0
                  ? "the server is no node of a Galera cluster"
                  : "the server is a node of a Galera cluster, whose nodes exclude each other by leases");
    return SQL_SELF_TEST_OK;
}

/* A proxy that spreads a session's statements over several would lose locks and transactions. */
static enum sql_self_test test_session(const struct config *config, struct error *ret)
{
    struct sql_session *maria = maria_open(config, "oncedrop check", ret);
    int64_t numbers[3] = {0};
    bool asked = maria != NULL;
    for (size_t i = 0; asked && i < G_N_ELEMENTS(numbers); i++) {
        maria_add(maria, "SELECT CONNECTION_ID()", 1, "");
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = maria_send(maria, ret) ? maria_next(maria, ret) : NULL;
        asked = rows != NULL;
        numbers[i] = asked ? sql_number(rows, 0, 0) : 0;
        (void)maria_finish(maria);
    }
    maria_close(maria);
    if (!asked)
        return SQL_SELF_TEST_FAILED;
    bool same = numbers[0] == numbers[1] && numbers[1] == numbers[2];
    error_set(ret, "%s",
              same ? "statements of a session reach one session of the server"
                   : "statements of one session reach several of the server: a proxy is in between, which must keep a"
                     " session together once it has called GET_LOCK");
    return same ? SQL_SELF_TEST_OK : SQL_SELF_TEST_WARNING;
}

const struct sql_self_tester maria_self_tests[] = {
    {"durability", true, test_durability},
    {"packets", true, test_packet},
    {"sessions", true, test_session},
    {"cluster", true, test_cluster},
    {.name = NULL},
};
