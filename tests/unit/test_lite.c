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
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite/lite.h"

static char directory[] = "/tmp/test_lite.XXXXXX", conninfo[64];
static struct config config = {.database.conninfo = conninfo};

static int make_file(void **state)
{
    struct error error;
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(conninfo, sizeof(conninfo), CONFIG_SQLITE "%s/ledger.db", directory);
    return lite_create(&config, &error) ? 0 : -1;
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
    struct error error;
    struct sql_session *lite = lite_open(&config, "", &error);
    assert_non_null(lite);
    return lite;
}

/* A batch of one statement. */
static bool execute(struct sql_session *lite, const char *sql)
{
    struct error error;
    lite_add(lite, sql, "", 0, NULL);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = lite_next(lite, &error);
    (void)lite_finish(lite);
    return rows != NULL;
}

static bool truth(struct sql_session *lite, const char *sql)
{
    struct error error;
    lite_add(lite, sql, "t", 0, NULL);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = lite_next(lite, &error);
    assert_non_null(rows);
    bool is = sql_bool(rows, 0, 0);
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

/* Its owner may not use it again, or close it, for long: a process that serves LMTP. */
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

/* What was done under a lock is committed before another session has it, and a lock whose release fails stays. */
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

/* Another process with a session, or one that opens it. */
struct other {
    pid_t pid;
    int socket;
};

/* Answers each statement, and first the opening, with whether it succeeded. */
static _Noreturn void be_other(int socket)
{
    struct error error;
    char sql[256];
    struct sql_session *lite = lite_open(&config, "", &error);
    bool done = lite != NULL;
    while (send(socket, &done, sizeof(done), 0) == (ssize_t)sizeof(done)) {
        ssize_t size = recv(socket, sql, sizeof(sql) - 1, 0);
        if (size <= 0)
            break;
        sql[size] = '\0';
        done = lite != NULL && execute(lite, sql);
    }
    if (lite != NULL)
        lite_close(lite);
    _exit(0);
}

static struct other start_other(void)
{
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    struct other other = {.pid = fork(), .socket = sockets[0]};
    assert_true(other.pid >= 0);
    if (other.pid == 0) {
        (void)close(sockets[0]);
        be_other(sockets[1]);
    }
    (void)close(sockets[1]);
    return other;
}

static bool reply_of(struct other other)
{
    bool done = false;
    assert_int_equal(recv(other.socket, &done, sizeof(done), 0), sizeof(done));
    return done;
}

static bool ask_other(struct other other, const char *sql)
{
    assert_int_equal(send(other.socket, sql, strlen(sql), 0), strlen(sql));
    return reply_of(other);
}

static void end_other(struct other other)
{
    assert_int_equal(send(other.socket, "", 0, 0), 0);
    (void)close(other.socket);
    assert_int_equal(waitpid(other.pid, NULL, 0), other.pid);
}

/* Whether it has answered; false: it waits for a lock. */
static bool has_replied(struct other other)
{
    char *waiting OD_CLEANUP(base_free) = base_printf("-> POSIX  ADVISORY  WRITE %d ", (int)other.pid);
    struct pollfd reply = {.fd = other.socket, .events = POLLIN};
    for (;;) {
        g_autofree char *locks = NULL;
        assert_true(g_file_get_contents("/proc/locks", &locks, NULL, NULL));
        if (strstr(locks, waiting) != NULL)
            return false;
        if (poll(&reply, 1, 10) == 1)
            return true;
    }
}

static char *path_of(const char *end)
{
    return base_printf("%s/ledger.db%s", directory, end);
}

/* By a separate process, since closing a file drops the locks that this one has on it (fcntl(2)). */
static void run_command(const char *command)
{
    char *line OD_CLEANUP(base_free) = base_printf("cd %s && %s", directory, command);
    assert_int_equal(system(line), 0);
}

static bool writes_something(struct sql_session *lite)
{
    return execute(lite, "BEGIN IMMEDIATE") && execute(lite, "CREATE TABLE IF NOT EXISTS d (id INTEGER PRIMARY KEY)") &&
           execute(lite, "INSERT INTO d VALUES (NULL)") && execute(lite, "COMMIT");
}

/* By their names others have other files then: neither would keep the other out, nor see what it writes. */
static void test_files_that_were_replaced(void **state)
{
    static const struct {
        const char *end;
        const char *command, *undo;
    } cases[] = {
        {"-lock", "mv ledger.db-lock away && touch ledger.db-lock", "rm away"},
        {"-lock", "mv ledger.db-lock away", "rm away"},
        {"", "mv ledger.db away", "mv away ledger.db"},
        {"", "mv ledger.db away && cp away ledger.db", "mv away ledger.db"},
        {"-wal", "mv ledger.db-wal away", "mv away ledger.db-wal"},
        {"-wal", "mv ledger.db-wal away && cp away ledger.db-wal", "rm away"},
        {"-wal", "cp ledger.db-wal away && truncate -s 100 ledger.db-wal", "mv away ledger.db-wal"},
        {"-shm", "rm ledger.db-shm", "true"},
        {"-shm", "cp ledger.db-shm away && mv away ledger.db-shm", "true"},
        {"-shm", "truncate -s 0 ledger.db-shm", "true"},
        {"-shm", "truncate -s 100 ledger.db-shm", "true"},
    };
    (void)state;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path OD_CLEANUP(base_free) = path_of(cases[i].end);
        struct sql_session *lite = open_session();
        struct error error;
        assert_true(writes_something(lite));
        run_command(cases[i].command);
        lite_add(lite, "BEGIN IMMEDIATE", "", 0, NULL);
        assert_null(lite_next(lite, &error));
        assert_non_null(strstr(error.text, path));
        assert_non_null(strstr(error.text, "while it was in use"));
        assert_false(lite_finish(lite));
        lite_close(lite);
        run_command(cases[i].undo);
        lite = open_session();
        char *sql OD_CLEANUP(base_free) = base_printf("SELECT count(*) = %d FROM d", (int)(2 * i + 1));
        assert_true(truth(lite, sql));
        assert_true(writes_something(lite));
        lite_close(lite);
    }
}

/* Of two sessions of one process, too, which have one index. */
static void test_no_other_files_beside(void **state)
{
    struct error error;
    struct sql_session *lite = open_session();
    (void)state;
    assert_true(writes_something(lite));
    run_command("rm ledger.db-shm");
    assert_null(lite_open(&config, "", &error));
    assert_non_null(strstr(error.text, "while it was in use"));
    lite_close(lite);
    lite_close(open_session());
}

/* Two processes with an index each would write two commits to one place. */
static void test_index_that_was_removed(void **state)
{
    struct other first = start_other();
    (void)state;
    assert_true(reply_of(first));
    assert_true(ask_other(first, "CREATE TABLE e (id INTEGER PRIMARY KEY)"));
    assert_true(ask_other(first, "INSERT INTO e VALUES (1)"));
    run_command("rm ledger.db-shm");
    struct sql_session *lite = open_session();
    assert_true(execute(lite, "INSERT INTO e VALUES (2)"));
    assert_false(ask_other(first, "INSERT INTO e VALUES (3)"));
    assert_true(truth(lite, "SELECT group_concat(id) = '1,2' FROM e"));
    lite_close(lite);
    end_other(first);
    lite = open_session();
    assert_true(truth(lite, "SELECT group_concat(id) = '1,2' FROM e"));
    lite_close(lite);
}

/* What is just being written has to be in the new index. */
static void test_index_that_is_made_meanwhile(void **state)
{
    struct other first = start_other(), second;
    (void)state;
    assert_true(reply_of(first));
    assert_true(ask_other(first, "CREATE TABLE f (id INTEGER PRIMARY KEY)"));
    assert_true(ask_other(first, "BEGIN IMMEDIATE"));
    assert_true(ask_other(first, "INSERT INTO f VALUES (1)"));
    run_command("rm ledger.db-shm");
    second = start_other();
    bool waits = !has_replied(second);
    assert_true(ask_other(first, "COMMIT"));
    bool opened = reply_of(second), written = ask_other(second, "INSERT INTO f VALUES (2)");
    end_other(first);
    end_other(second);
    assert_true(waits && opened && written);
    struct sql_session *lite = open_session();
    assert_true(truth(lite, "SELECT group_concat(id) = '1,2' FROM f"));
    lite_close(lite);
}

/* An index stays in memory that a removed log has left. */
static void test_log_that_was_removed(void **state)
{
    struct other first = start_other();
    (void)state;
    assert_true(reply_of(first));
    assert_true(ask_other(first, "CREATE TABLE IF NOT EXISTS g (id INTEGER PRIMARY KEY)"));
    run_command("rm ledger.db-wal");
    struct sql_session *lite = open_session();
    assert_true(execute(lite, "CREATE TABLE IF NOT EXISTS g (id INTEGER PRIMARY KEY)"));
    assert_true(execute(lite, "INSERT INTO g VALUES (2)"));
    assert_false(ask_other(first, "INSERT INTO g VALUES (1)"));
    end_other(first);
    lite_close(lite);
    lite = open_session();
    assert_true(truth(lite, "SELECT group_concat(id) = '2' FROM g"));
    lite_close(lite);
}

/* A backup copied over it does not fit the log, and no process may use both. */
static void test_file_that_was_overwritten(void **state)
{
    struct error error;
    struct sql_session *lite = open_session();
    (void)state;
    assert_true(writes_something(lite));
    run_command("cp ledger.db away && cp away ledger.db");
    lite_add(lite, "BEGIN IMMEDIATE", "", 0, NULL);
    assert_null(lite_next(lite, &error));
    assert_non_null(strstr(error.text, LITE_REPLACED));
    lite_close(lite);
    assert_null(lite_open(&config, "", &error));
    assert_non_null(strstr(error.text, LITE_REPLACED));
    assert_false(lite_create(&config, &error));
    run_command("rm ledger.db-shm");
    assert_null(lite_open(&config, "", &error));
    run_command("rm ledger.db-wal away");
    lite = open_session();
    assert_true(writes_something(lite));
    lite_close(lite);
}

/* All files together may be moved or copied, while no process uses them. */
static void test_files_that_were_moved_together(void **state)
{
    struct sql_session *lite = open_session();
    (void)state;
    assert_true(writes_something(lite));
    lite_close(lite);
    run_command("mkdir away && cp ledger.db* away && rm ledger.db* && cp away/* . && rm -r away");
    lite = open_session();
    assert_true(writes_something(lite));
    lite_close(lite);
}

/* Only this program writes into the file itself, and says so. */
static void test_written_back(void **state)
{
    struct other other = start_other();
    struct sql_session *lite = open_session();
    char *path OD_CLEANUP(base_free) = path_of("");
    struct stat before, after;
    (void)state;
    assert_true(reply_of(other));
    assert_int_equal(stat(path, &before), 0);
    assert_true(execute(lite, "CREATE TABLE h (text)"));
    assert_true(execute(lite, "INSERT INTO h VALUES (zeroblob(2000000))"));
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size > before.st_size);
    assert_true(ask_other(other, "INSERT INTO h VALUES (1)"));
    assert_true(execute(lite, "INSERT INTO h VALUES (2)"));
    assert_true(lite_files_forget(lite_lock_file())); /* as if killed when it was written back */
    run_command("touch ledger.db");
    assert_true(ask_other(other, "INSERT INTO h VALUES (3)"));
    assert_true(execute(lite, "INSERT INTO h VALUES (4)"));
    end_other(other);
    lite_close(lite);
}

/* The process that created the file may have died before it had a log: no COMMIT of such a one would be durable. */
static void test_always_has_a_log(void **state)
{
    struct error error;
    struct sql_session *lite = open_session();
    (void)state;
    assert_true(execute(lite, "PRAGMA journal_mode = DELETE"));
    lite_close(lite);
    assert_null(lite_open(&config, "", &error));
    assert_non_null(strstr(error.text, LITE_NO_LOG));
    assert_true(lite_create(&config, &error));
    lite_close(open_session());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_has_no_lock),
        cmocka_unit_test(test_given_back_with_the_commit),
        cmocka_unit_test(test_failed_is_not_committed),
        cmocka_unit_test(test_files_that_were_replaced),
        cmocka_unit_test(test_no_other_files_beside),
        cmocka_unit_test(test_index_that_was_removed),
        cmocka_unit_test(test_index_that_is_made_meanwhile),
        cmocka_unit_test(test_log_that_was_removed),
        cmocka_unit_test(test_file_that_was_overwritten),
        cmocka_unit_test(test_files_that_were_moved_together),
        cmocka_unit_test(test_written_back),
        cmocka_unit_test(test_always_has_a_log),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
