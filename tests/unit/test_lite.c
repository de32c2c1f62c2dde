/* SPDX-License-Identifier: ISC
 *
 * A session with a file, and its locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "sqlite/lite.h"

static char directory[] = "/tmp/test_lite.XXXXXX", conninfo[64];
static struct config config = {.database.conninfo = conninfo};

static int make_file(void **state)
{
    struct fault fault;
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(conninfo, sizeof(conninfo), CONFIG_SQLITE "%s/ledger.db", directory);
    return lite_create(&config, &fault) ? 0 : -1;
}

static int remove_file(void **state)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        char *path OD_CLEANUP(base_free) = base_printf("%s/ledger.db%s", directory, ends[i]);
        (void)unlink(path);
    }
    return rmdir(directory);
}

static struct sql_session *open_session(void)
{
    struct fault fault;
    struct sql_session *lite = lite_open(&config, "", &fault);
    assert_non_null(lite);
    return lite;
}

/* A batch of one statement. */
static bool execute(struct sql_session *lite, const char *sql)
{
    struct fault fault;
    lite_add(lite, sql, "", 0, NULL);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = lite_take(lite, 0, &fault);
    (void)lite_finish(lite);
    return rows != NULL;
}

static bool truth(struct sql_session *lite, const char *sql)
{
    struct fault fault;
    lite_add(lite, sql, "t", 0, NULL);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = lite_take(lite, 0, &fault);
    assert_non_null(rows);
    bool is = sql_truth(rows, 0, 0);
    (void)lite_finish(lite);
    return is;
}

static bool has_lock(struct sql_session *lite)
{
    return truth(lite, "SELECT oncedrop_lock(7)");
}

static bool still_has_lock(struct sql_session *lite)
{
    return truth(lite, "SELECT oncedrop_locked(7)");
}

/* Whoever has it may not use it again, or close it, for long: a process that serves LMTP. */
static void test_lost_has_no_lock(void **state)
{
    struct sql_session *lost = open_session(), *other = open_session();
    (void)state;
    assert_true(has_lock(lost));
    assert_false(has_lock(other));
    assert_true(execute(lost, "CREATE TABLE a (id INTEGER PRIMARY KEY)"));
    assert_true(execute(lost, "CREATE TABLE b (a INTEGER REFERENCES a DEFERRABLE INITIALLY DEFERRED)"));
    assert_true(execute(lost, "BEGIN IMMEDIATE"));
    assert_true(execute(lost, "INSERT INTO b VALUES (1)"));
    assert_false(execute(lost, "COMMIT"));
    assert_true(lost->lost);
    assert_true(has_lock(other));
    assert_true(execute(other, "INSERT INTO a VALUES (1)"));
    lite_close(lost);
    assert_true(has_lock(other));
    lite_close(other);
}

/* What was done under a lock is committed before anybody else has it, and a lock given back in vain stays. */
static void test_given_back_with_the_commit(void **state)
{
    struct sql_session *lite = open_session();
    (void)state;
    assert_true(has_lock(lite));
    assert_true(execute(lite, "BEGIN IMMEDIATE"));
    assert_true(execute(lite, "SELECT oncedrop_unlock(7)"));
    assert_true(still_has_lock(lite));
    assert_true(execute(lite, "ROLLBACK"));
    assert_true(still_has_lock(lite));
    assert_true(execute(lite, "BEGIN IMMEDIATE"));
    assert_true(execute(lite, "SELECT oncedrop_unlock(7)"));
    assert_true(execute(lite, "COMMIT"));
    assert_false(still_has_lock(lite));
    lite_close(lite);
}

static void test_failed_is_not_committed(void **state)
{
    struct sql_session *lite = open_session();
    (void)state;
    assert_true(execute(lite, "CREATE TABLE c (id INTEGER PRIMARY KEY)"));
    assert_true(execute(lite, "BEGIN IMMEDIATE"));
    assert_true(execute(lite, "INSERT INTO c VALUES (1)"));
    assert_false(execute(lite, "INSERT INTO c VALUES (1)"));
    assert_true(execute(lite, "COMMIT")); /* of nothing */
    assert_true(truth(lite, "SELECT count(*) = 0 FROM c"));
    lite_close(lite);
}

/* By their names others have other files then: neither would keep the other out, nor see what it writes. */
static void test_files_that_were_replaced(void **state)
{
    static const struct {
        const char *end;
        bool anew; /* another process has made a file of that name since */
    } cases[] = {{"-lock", true}, {"-lock", false}, {"", false}};
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool is_ledger = cases[i].end[0] == '\0';
        char *path OD_CLEANUP(base_free) = base_printf("%s/ledger.db%s", directory, cases[i].end);
        char *away OD_CLEANUP(base_free) = base_printf("%s.away", path);
        struct sql_session *lite = open_session();
        struct fault fault;
        assert_true(execute(lite, "BEGIN IMMEDIATE"));
        assert_true(execute(lite, "COMMIT"));
        assert_int_equal(rename(path, away), 0);
        if (cases[i].anew)
            assert_true(g_file_set_contents(path, "", 0, NULL));
        lite_add(lite, "BEGIN IMMEDIATE", "", 0, NULL);
        assert_null(lite_take(lite, 0, &fault));
        assert_non_null(strstr(fault.text, path));
        assert_false(lite_finish(lite));
        lite_close(lite);
        assert_int_equal(is_ledger ? rename(away, path) : unlink(away), 0); /* the file of locks is made anew */
        lite = open_session();
        assert_true(execute(lite, "BEGIN IMMEDIATE"));
        assert_true(execute(lite, "COMMIT"));
        lite_close(lite);
    }
}

/* Whoever created the file may have died before it had a log: no COMMIT of such a one would be durable. */
static void test_always_has_a_log(void **state)
{
    struct fault fault;
    struct sql_session *lite = open_session();
    (void)state;
    assert_true(execute(lite, "PRAGMA journal_mode = DELETE"));
    lite_close(lite);
    assert_null(lite_open(&config, "", &fault));
    assert_non_null(strstr(fault.text, LITE_NO_LOG));
    assert_true(lite_create(&config, &fault));
    lite_close(open_session());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_has_no_lock),        cmocka_unit_test(test_given_back_with_the_commit),
        cmocka_unit_test(test_failed_is_not_committed), cmocka_unit_test(test_files_that_were_replaced),
        cmocka_unit_test(test_always_has_a_log),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
