/* SPDX-License-Identifier: ISC
 *
 * Group commit: a writer and several workers, on a disk that forgets at a power cut what was not synced. Replaces
 * fdatasync(2), as libsqlite3 calls it, and the writer's clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sqlite/lite.h"

#define WORKERS 4
#define ROUNDS 5
#define LIMIT_S 30 /* of a test, which takes some milliseconds */
#define ROWS_MAX 64
#define KEY 7
#define ROLLS_BACK 50 /* a row that rolls all of the transaction back */
#define LOG_MAX ((size_t)512 * 1024)
#define SNAPSHOTS 100

static char directory[] = "/tmp/test_lite_group.XXXXXX", conninfo[80];
static struct config config = {.database.conninfo = conninfo};

/* Shared by all processes. */
struct disk {
    _Atomic bool closed;              /* syncs do not end */
    _Atomic int inside;               /* syncs in progress */
    _Atomic int syncs;                /* begun */
    _Atomic int sync_us;              /* what a sync takes at least */
    _Atomic bool failing;             /* syncs fail */
    _Atomic bool frozen;              /* time does not pass */
    _Atomic bool certified[ROWS_MAX]; /* rows whose COMMIT has succeeded */
    char durable[LOG_MAX];            /* the log, as the disk has it */
    int snapshot_count;
    struct snapshot {
        bool certified[ROWS_MAX];
        char log[LOG_MAX];
    } snapshots[SNAPSHOTS];
};

static struct disk *disk;

/* Only one process syncs at a time. */
static void take_snapshot(void)
{
    assert_true(disk->snapshot_count < SNAPSHOTS);
    struct snapshot *it = &disk->snapshots[disk->snapshot_count++];
    for (size_t i = 0; i < ROWS_MAX; i++)
        it->certified[i] = atomic_load(&disk->certified[i]);
    memcpy(it->log, disk->durable, LOG_MAX);
}

static void read_log(char *ret)
{
    char *path OD_CLEANUP(base_free) = base_printf("%s/ledger.db-wal", directory);
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY | O_CLOEXEC);
    memset(ret, 0, LOG_MAX);
    assert_true(read(fd, ret, LOG_MAX) >= 0);
}

int fdatasync(int fd)
{
    static char content[LOG_MAX];
    (void)fd;
    if (disk == NULL)
        return 0;
    read_log(content);
    take_snapshot();
    atomic_fetch_add(&disk->syncs, 1);
    atomic_fetch_add(&disk->inside, 1);
    while (atomic_load(&disk->closed))
        g_usleep(1000);
    g_usleep((gulong)atomic_load(&disk->sync_us));
    atomic_fetch_sub(&disk->inside, 1);
    errno = EIO;
    if (atomic_load(&disk->failing))
        return -1;
    memcpy(disk->durable, content, LOG_MAX);
    take_snapshot();
    return 0;
}

int fsync(int fd)
{
    return fdatasync(fd);
}

gint64 g_get_monotonic_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return disk != NULL && atomic_load(&disk->frozen) ? 0 : (gint64)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static char *path_of(const char *end)
{
    return base_printf("%s/ledger.db%s", directory, end);
}

/* An empty table, in an empty log. */
static int make_file(void **state)
{
    struct error error;
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(conninfo, sizeof(conninfo), CONFIG_SQLITE "%s/ledger.db", directory);
    if (!lite_create(&config, &error))
        return -1;
    struct sql_session *lite = lite_open(&config, "", &error);
    bool made = lite_script(lite, "CREATE TABLE a (id INTEGER PRIMARY KEY, text TEXT)", &error) &&
                lite_script(lite, "CREATE TRIGGER b BEFORE INSERT ON a WHEN NEW.id = " G_STRINGIFY(ROLLS_BACK) " BEGIN"
                                  " SELECT RAISE(ROLLBACK, 'as if the disk were full'); END", &error) &&
                sqlite3_wal_checkpoint_v2(lite->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) == SQLITE_OK;
    lite_files_record(lite->path, lite_lock_file());
    lite_close(lite);
    disk = mmap(NULL, sizeof(*disk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return made && disk != MAP_FAILED ? 0 : -1;
}

static int remove_file(void **state)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    (void)state;
    munmap(disk, sizeof(*disk));
    disk = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        char *path OD_CLEANUP(base_free) = path_of(ends[i]);
        (void)unlink(path);
    }
    return rmdir(directory);
}

/* A worker, or the writer; and what it is asked by. */
struct process {
    pid_t pid;
    int socket;
};

static struct sql_group *group;
static struct process writer, workers[WORKERS];

static const struct sql_step_text step_begin = {.column_kinds = "", .text = "BEGIN IMMEDIATE"};
static const struct sql_step_text step_commit = {.column_kinds = "", .text = "COMMIT"};
static const struct sql_step_text step_insert = {.params = 2,
                                                 .column_kinds = "",
                                                 .text = "INSERT INTO a VALUES (?1, ?2)"};
static const struct sql_step_text step_count = {.column_kinds = "n", .text = "SELECT count(*) FROM a"};
static const struct sql_step_text step_lock = {.params = 1, .column_kinds = "t", .text = "SELECT oncedrop_lock(?1)"};
static const struct sql_step_text step_unlock = {.params = 1, .column_kinds = "", .text = "SELECT oncedrop_unlock(?1)"};

enum deed {
    INSERT,
    INSERT_TWICE,
    INSERT_AND_UNLOCK,
    INSERT_MUCH,
    INSERT_MANY,
    INSERT_AND_COUNT,
    INSERT_LEFT_OPEN,
    LOCK,
    LET_CHILD_LOOK,
};

struct question {
    enum deed deed;
    int row;
};

struct answer {
    bool done, lost;
    int64_t number; /* of rows changed or counted, by the last step but COMMIT */
};

static void add(struct sql_session *lite, enum sql_step step, const struct sql_step_text *text,
                const struct sql_value *values)
{
    if (!lite_group_add(lite, step, text, values))
        lite_add_step(lite, text, values);
}

static void add_insert(struct sql_session *lite, int row, const char *text)
{
    add(lite, SQL_STEP_event, &step_insert, (struct sql_value[]){SQL_NUMBER(row), SQL_TEXT_CUT(text, SIZE_MAX)});
}

/* Returns how many steps it added. */
static int add_deed(struct sql_session *lite, struct question question)
{
    static char much[LITE_VALUES_MAX];
    const struct sql_value key = SQL_NUMBER(KEY);
    int steps = 2;
    add(lite, SQL_STEP_begin, &step_begin, NULL);
    memset(much, 'a', sizeof(much) - 1);
    add_insert(lite, question.row, question.deed == INSERT_MUCH ? much : "text");
    if (question.deed == INSERT_TWICE)
        add_insert(lite, question.row, "again");
    for (; question.deed == INSERT_MANY && steps < LITE_STEPS_MAX + 10; steps++)
        add_insert(lite, question.row + ROWS_MAX * steps, NULL);
    if (question.deed == INSERT_AND_COUNT)
        add(lite, SQL_STEP_event, &step_count, NULL);
    if (question.deed == INSERT_AND_UNLOCK)
        add(lite, SQL_STEP_release_session, &step_unlock, &key);
    steps += question.deed == INSERT_TWICE || question.deed == INSERT_AND_COUNT || question.deed == INSERT_AND_UNLOCK;
    if (question.deed != INSERT_LEFT_OPEN)
        add(lite, SQL_STEP_commit, &step_commit, NULL);
    return steps + (question.deed != INSERT_LEFT_OPEN);
}

/* msync(2) fails with ENOMEM for memory that is not mapped. Returns its errno in a child; 0: it succeeds. */
static int seen_by_child(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(msync(group, 1, MS_ASYNC) == 0 ? 0 : errno);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static struct answer answer_to(struct sql_session *lite, struct question question)
{
    if (question.deed == LET_CHILD_LOOK)
        return (struct answer){.done = true, .number = seen_by_child()};
    struct error error;
    struct answer answer = {.done = true};
    int steps = 1;
    if (question.deed == LOCK)
        add(lite, SQL_STEP_lock_session, &step_lock, (struct sql_value[]){SQL_NUMBER(KEY)});
    else
        steps = add_deed(lite, question);
    for (int i = 0; answer.done && i < steps; i++) {
        lite_group_end(lite);
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = lite_next(lite, &error);
        answer.done = rows != NULL;
        if (rows != NULL && (i + 2 == steps || steps == 1))
            answer.number = rows->columns == 0      ? rows->changed
                            : question.deed == LOCK ? sql_bool(rows, 0, 0)
                                                    : sql_number(rows, 0, 0);
    }
    (void)lite_finish(lite);
    answer.lost = lite->lost;
    if (question.deed != LOCK && question.deed != INSERT_LEFT_OPEN && answer.done)
        atomic_store(&disk->certified[question.row], true);
    return answer;
}

/* Opens the ledger again after an error when it needs it, as a worker does. */
static _Noreturn void be_worker(size_t number, int socket)
{
    struct error error;
    struct question question;
    lite_group_join(group, number);
    struct sql_session *lite = lite_open(&config, "", &error);
    struct answer answer = {.done = lite != NULL};
    (void)send(socket, &answer, sizeof(answer), 0);
    while (recv(socket, &question, sizeof(question), 0) == (ssize_t)sizeof(question)) {
        if (lite->lost) {
            lite_close(lite);
            lite = lite_open(&config, "", &error);
        }
        answer = answer_to(lite, question);
        (void)send(socket, &answer, sizeof(answer), 0);
    }
    lite_close(lite);
    _exit(0);
}

static struct process start(bool is_writer, size_t number)
{
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    struct process process = {.pid = fork(), .socket = sockets[0]};
    assert_true(process.pid >= 0);
    if (process.pid != 0) {
        (void)close(sockets[1]);
        return process;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(sockets[0]);
    for (size_t i = 0; i < WORKERS; i++)
        base_close(&workers[i].socket);
    if (!is_writer)
        be_worker(number, sockets[1]);
    lite_group_write(group, &config);
    _exit(0);
}

static struct answer answer_of(struct process worker)
{
    struct answer answer;
    assert_int_equal(recv(worker.socket, &answer, sizeof(answer), 0), sizeof(answer));
    return answer;
}

static void ask(struct process worker, enum deed deed, int row)
{
    const struct question question = {deed, row};
    assert_int_equal(send(worker.socket, &question, sizeof(question), 0), sizeof(question));
}

static struct answer asked(struct process worker, enum deed deed, int row)
{
    ask(worker, deed, row);
    return answer_of(worker);
}

static int end_of(struct process process)
{
    int status;
    (void)close(process.socket);
    assert_int_equal(waitpid(process.pid, &status, 0), process.pid);
    return status;
}

static void start_writer(void)
{
    writer = start(true, 0);
    while (atomic_load(&((struct lite_group *)group)->writer) != writer.pid)
        g_usleep(1000);
}

static void start_workers(void)
{
    for (size_t i = 0; i < WORKERS; i++)
        workers[i].socket = -1;
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = start(false, i);
        assert_true(answer_of(workers[i]).done);
    }
}

static struct lite_member *member(size_t worker)
{
    return &((struct lite_group *)group)->members[worker];
}

static int start_all(void **state)
{
    alarm(LIMIT_S); /* a breakage may make everything wait */
    if (make_file(state) != 0 || (group = lite_group_new(WORKERS + 1)) == NULL)
        return -1;
    atomic_store(&member(WORKERS)->delivers, true); /* so no worker is alone */
    start_workers();
    start_writer();
    assert_true(asked(workers[0], INSERT, ROWS_MAX - 1).done); /* an empty log has more syncs */
    atomic_store(&disk->syncs, 0);
    return 0;
}

/* The writer ends by itself when all others have. */
static void end_processes(void)
{
    lite_group_leave(group);
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(end_of(workers[i]), 0);
    assert_int_equal(end_of(writer), 0);
}

static int end_all(void **state)
{
    end_processes();
    return remove_file(state);
}

static void await_state(size_t worker, enum lite_member_state state)
{
    while (atomic_load(&member(worker)->state) != (int)state)
        g_usleep(1000);
}

/* The first worker's transaction is in a sync that does not end. */
static void hold_first(void)
{
    atomic_store(&disk->closed, true);
    ask(workers[0], INSERT, 0);
    while (atomic_load(&disk->inside) == 0)
        g_usleep(1000);
}

/* These wait for the writer meanwhile. */
static void ask_others(enum deed deed)
{
    for (size_t i = 1; i < WORKERS; i++) {
        ask(workers[i], deed, (int)i);
        await_state(i, LITE_MEMBER_WAITS);
    }
}

/* A row that the database has. */
static bool is_there(int row)
{
    struct error error;
    struct sql_session *lite = lite_open(&config, "", &error);
    assert_non_null(lite);
    char *sql OD_CLEANUP(base_free) = base_printf("SELECT count(*) FROM a WHERE id = %d", row);
    lite_add(lite, sql, "n", 0, NULL);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = lite_next(lite, &error);
    assert_non_null(rows);
    bool is = sql_number(rows, 0, 0) == 1;
    (void)lite_finish(lite);
    lite_close(lite);
    return is;
}

static void test_several_share_a_sync(void **state)
{
    (void)state;
    hold_first();
    ask_others(INSERT);
    assert_false(is_there(0));
    atomic_store(&disk->closed, false);
    for (size_t i = 0; i < WORKERS; i++) {
        struct answer answer = answer_of(workers[i]);
        assert_true(answer.done && answer.number == 1);
        assert_true(is_there((int)i));
    }
    assert_int_equal(atomic_load(&disk->syncs), 2);
}

/* For those who came before, if a COMMIT takes long. */
static void test_waits_for_others(void **state)
{
    (void)state;
    hold_first();
    ask_others(INSERT);
    atomic_store(&disk->sync_us, 2000);
    atomic_store(&disk->closed, false);
    for (size_t i = 0; i < WORKERS; i++)
        assert_true(answer_of(workers[i]).done);
    atomic_store(&disk->syncs, 0);
    atomic_store(&disk->frozen, true);
    for (int i = 0; i < WORKERS; i++) {
        ask(workers[i], INSERT, WORKERS + i);
        if (i + 1 < WORKERS)
            await_state((size_t)i, LITE_MEMBER_TAKEN);
    }
    for (size_t i = 0; i < WORKERS; i++)
        assert_true(answer_of(workers[i]).done);
    assert_int_equal(atomic_load(&disk->syncs), 1);
}

/* The third worker's transaction fails, in a group with others. */
static void check_failure(enum deed deed, int row)
{
    hold_first();
    for (size_t i = 1; i < WORKERS; i++) {
        ask(workers[i], i == 2 ? deed : INSERT, i == 2 ? row : (int)i);
        await_state(i, LITE_MEMBER_WAITS);
    }
    atomic_store(&disk->closed, false);
    for (size_t i = 0; i < WORKERS; i++) {
        struct answer answer = answer_of(workers[i]);
        assert_int_equal(answer.done, i != 2);
        assert_false(answer.lost);
        assert_int_equal(is_there((int)i), i != 2);
    }
    assert_true(asked(workers[2], INSERT, 2).done && is_there(2));
}

static void test_one_fails_alone(void **state)
{
    (void)state;
    check_failure(INSERT_TWICE, 2);
}

/* SQLite rolls everything back: the others execute theirs by themselves. */
static void test_everything_is_rolled_back(void **state)
{
    (void)state;
    check_failure(INSERT, ROLLS_BACK);
}

/* A worker's child, such as the decoder, has nothing of the shared memory. */
static void test_children_are_kept_out(void **state)
{
    (void)state;
    assert_int_equal(asked(workers[0], LET_CHILD_LOOK, 0).number, ENOMEM);
}

static void test_failed_commit_is_everybodys(void **state)
{
    (void)state;
    hold_first();
    ask_others(INSERT);
    atomic_store(&disk->failing, true);
    atomic_store(&disk->closed, false);
    for (size_t i = 0; i < WORKERS; i++) {
        struct answer answer = answer_of(workers[i]);
        assert_true(!answer.done && answer.lost);
    }
    atomic_store(&disk->failing, false);
    for (int i = 0; i < WORKERS; i++) {
        assert_true(asked(workers[i], INSERT, i).done && is_there(i));
        assert_int_equal(member((size_t)i)->outcome, LITE_MEMBER_COMMITTED); /* by the writer */
    }
}

/* One transaction may have been committed; the others execute theirs by themselves. */
static void test_writer_dies(void **state)
{
    (void)state;
    hold_first();
    ask_others(INSERT);
    assert_int_equal(kill(writer.pid, SIGKILL), 0);
    assert_int_equal(end_of(writer), SIGKILL);
    atomic_store(&disk->inside, 0);
    atomic_store(&disk->closed, false);
    lite_group_writer_died(group);
    struct answer answer = answer_of(workers[0]);
    assert_true(!answer.done && answer.lost);
    for (size_t i = 1; i < WORKERS; i++)
        assert_true(answer_of(workers[i]).done);
    assert_true(asked(workers[1], INSERT, 10).done && is_there(10));
    start_writer();
    atomic_store(&disk->closed, true);
    ask(workers[0], INSERT, 11);
    await_state(0, LITE_MEMBER_TAKEN);
    atomic_store(&disk->closed, false);
    assert_true(answer_of(workers[0]).done && is_there(11));
}

static void test_writer_dies_before_it_wakes_the_worker(void **state)
{
    (void)state;
    hold_first();
    assert_int_equal(kill(writer.pid, SIGKILL), 0);
    assert_int_equal(end_of(writer), SIGKILL);
    atomic_store(&disk->inside, 0);
    atomic_store(&disk->closed, false);
    member(0)->outcome = LITE_MEMBER_COMMITTED;
    atomic_store(&member(0)->state, LITE_MEMBER_FREE);
    lite_group_writer_died(group);
    assert_true(answer_of(workers[0]).done);
    start_writer();
}

/* The one that waits, and the one that the writer has. */
static void test_workers_die(void **state)
{
    (void)state;
    hold_first();
    ask_others(INSERT);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(kill(workers[i].pid, SIGKILL), 0);
        assert_int_equal(end_of(workers[i]), SIGKILL);
        workers[i] = start(false, i);
        assert_true(answer_of(workers[i]).done);
    }
    atomic_store(&disk->closed, false);
    for (size_t i = 2; i < WORKERS; i++)
        assert_true(answer_of(workers[i]).done);
    for (int i = 0; i < 2; i++)
        assert_true(is_there(i) && asked(workers[i], INSERT, 10 + i).done && is_there(10 + i));
}

/* Until the transaction has ended the slot's previous owner had, the next worker writes by itself. */
static void test_successor_does_not_wait(void **state)
{
    (void)state;
    const volatile uint64_t *number = &((struct lite_group *)group)->number;
    while (*number == member(0)->group) /* the writer has not yet replied to all */
        g_usleep(1000);
    atomic_store(&member(1)->state, LITE_MEMBER_TAKEN);
    assert_true(asked(workers[1], INSERT, 1).done && is_there(1));
    assert_int_equal(atomic_load(&member(1)->state), LITE_MEMBER_TAKEN);
    atomic_store(&member(1)->state, LITE_MEMBER_FREE);
}

static void test_lock_lasts_until_the_commit(void **state)
{
    (void)state;
    assert_int_equal(asked(workers[0], LOCK, 0).number, 1);
    atomic_store(&disk->closed, true);
    ask(workers[0], INSERT_AND_UNLOCK, 0);
    while (atomic_load(&disk->inside) == 0)
        g_usleep(1000);
    assert_int_equal(asked(workers[1], LOCK, 0).number, 0);
    atomic_store(&disk->closed, false);
    assert_true(answer_of(workers[0]).done);
    assert_int_equal(asked(workers[1], LOCK, 0).number, 1);
}

static void test_lock_stays_after_a_failure(void **state)
{
    (void)state;
    assert_true(asked(workers[1], INSERT, 0).done);
    assert_int_equal(asked(workers[0], LOCK, 0).number, 1);
    assert_false(asked(workers[0], INSERT_AND_UNLOCK, 0).done);
    assert_int_equal(asked(workers[1], LOCK, 0).number, 0);
    assert_true(asked(workers[0], INSERT_AND_UNLOCK, 1).done);
    assert_int_equal(asked(workers[1], LOCK, 0).number, 1);
}

static void test_lost_has_no_lock(void **state)
{
    (void)state;
    assert_int_equal(asked(workers[0], LOCK, 0).number, 1);
    atomic_store(&disk->failing, true);
    assert_true(asked(workers[0], INSERT, 0).lost);
    atomic_store(&disk->failing, false);
    assert_int_equal(asked(workers[1], LOCK, 0).number, 1);
}

/* The worker's own session executes these, as the writer's sync shows: it does not begin. */
static void test_what_does_not_fit(void **state)
{
    static const enum deed deeds[] = {INSERT_MUCH, INSERT_MANY, INSERT_AND_COUNT, INSERT_LEFT_OPEN};
    (void)state;
    for (int i = 0; i < (int)G_N_ELEMENTS(deeds); i++) {
        uint64_t before = member(0)->group;
        struct answer answer = asked(workers[0], deeds[i], i);
        assert_true(answer.done && !answer.lost);
        assert_int_equal(member(0)->group, before);
        assert_int_equal(answer.number, deeds[i] == INSERT_AND_COUNT ? LITE_STEPS_MAX + 12 : 1);
    }
    for (int i = 0; i < 3; i++)
        assert_true(is_there(i));
    assert_false(is_there(3));
}

/* No other would share its COMMIT: the worker's own session executes the transaction. A locked message, and nothing else, is
 * what makes another worker company. */
static void test_alone(void **state)
{
    (void)state;
    atomic_store(&member(WORKERS)->delivers, false);
    uint64_t before = member(0)->group;
    assert_true(asked(workers[0], INSERT, 0).done && is_there(0));
    assert_int_equal(member(0)->group, before);
    assert_int_equal(asked(workers[1], LOCK, 0).number, 1);
    assert_true(asked(workers[0], INSERT, 1).done && is_there(1));
    assert_int_not_equal(member(0)->group, before);
    before = member(0)->group;
    assert_true(asked(workers[1], INSERT_AND_UNLOCK, 2).done && is_there(2));
    assert_int_equal(member(1)->group, 0);
    assert_true(asked(workers[0], INSERT, 3).done);
    assert_int_equal(asked(workers[1], LOCK, 0).number, 1);
    assert_int_equal(kill(workers[1].pid, SIGKILL), 0);
    assert_int_equal(end_of(workers[1]), SIGKILL);
    workers[1] = start(false, 1);
    assert_true(answer_of(workers[1]).done);
    assert_true(asked(workers[0], INSERT, 4).done);
    assert_int_equal(member(0)->group, before);
}

/* What the worker has read may be of another file than the one that the writer opens. */
static void test_other_files(void **state)
{
    (void)state;
    char *path OD_CLEANUP(base_free) = path_of("-shm");
    assert_int_equal(unlink(path), 0);
    assert_true(asked(workers[0], INSERT, 0).lost);
    assert_true(asked(workers[0], INSERT, 0).done && is_there(0));
    assert_true(asked(workers[1], INSERT, 1).lost);
    assert_true(asked(workers[1], INSERT, 1).done && is_there(1));
}

/* A lock on a file that others no longer have excludes no process. */
static void test_other_lock_file(void **state)
{
    (void)state;
    char *path OD_CLEANUP(base_free) = path_of("-lock");
    assert_int_equal(asked(workers[1], LOCK, 0).number, 1);
    assert_int_equal(unlink(path), 0);
    assert_true(asked(workers[0], INSERT, 0).lost);
    assert_true(asked(workers[0], INSERT, 0).done && is_there(0));
    assert_int_equal(asked(workers[0], LOCK, 0).number, 1);
    assert_true(asked(workers[1], INSERT, 1).lost);
    assert_int_equal(asked(workers[1], LOCK, 0).number, 0);
    assert_true(asked(workers[1], INSERT, 1).done && is_there(1));
}

static void write_file(const char *end, const char *bytes, size_t size)
{
    char *path OD_CLEANUP(base_free) = path_of(end);
    assert_true(g_file_set_contents_full(path, bytes, (gssize)size, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* Each certified row is in what the disk had. Nothing was written back meanwhile, so the ledger's file is as it was. */
static void check_snapshot(const struct snapshot *it, size_t number)
{
    char *shm OD_CLEANUP(base_free) = path_of("-shm"), *path OD_CLEANUP(base_free) = path_of("");
    sqlite3 *db;
    sqlite3_stmt *statement;
    write_file("-wal", it->log, LOG_MAX);
    (void)unlink(shm);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 FROM a WHERE id = ?1", -1, &statement, NULL), SQLITE_OK);
    for (int row = 0; row < ROWS_MAX; row++) {
        sqlite3_bind_int(statement, 1, row);
        bool found = sqlite3_step(statement) == SQLITE_ROW;
        if (it->certified[row] && !found)
            fail_msg("row %d is lost by a power cut at snapshot %zu", row, number);
        sqlite3_reset(statement);
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
}

/* Before and after every sync; the writer is killed in the middle of one, and another one fails. */
static void test_power_cuts(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        atomic_store(&disk->closed, round == 2);
        for (size_t i = 0; i < WORKERS; i++)
            ask(workers[i], INSERT, round * WORKERS + (int)i);
        if (round == 2) {
            while (atomic_load(&disk->inside) == 0)
                g_usleep(1000);
            assert_int_equal(kill(writer.pid, SIGKILL), 0);
            assert_int_equal(end_of(writer), SIGKILL);
            atomic_store(&disk->inside, 0);
            atomic_store(&disk->closed, false);
            lite_group_writer_died(group);
        }
        for (size_t i = 0; i < WORKERS; i++)
            assert_int_equal(answer_of(workers[i]).done || round == 2, true);
        if (round == 2)
            start_writer();
    }
    take_snapshot();
    int count = 0;
    for (int row = 0; row < ROWS_MAX; row++)
        count += atomic_load(&disk->certified[row]);
    assert_in_range(count, (ROUNDS - 1) * WORKERS + 1, ROUNDS * WORKERS + 1);
}

/* After all processes have ended. */
static int check_power_cuts(void **state)
{
    end_processes();
    struct disk *before = disk;
    disk = NULL; /* these syncs do not count */
    for (int i = 0; i < before->snapshot_count; i++)
        check_snapshot(&before->snapshots[i], (size_t)i);
    disk = before;
    return remove_file(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_several_share_a_sync, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_waits_for_others, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_one_fails_alone, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_everything_is_rolled_back, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_failed_commit_is_everybodys, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_writer_dies, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_writer_dies_before_it_wakes_the_worker, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_workers_die, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_successor_does_not_wait, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_lock_lasts_until_the_commit, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_lock_stays_after_a_failure, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_lost_has_no_lock, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_what_does_not_fit, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_alone, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_other_files, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_other_lock_file, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_children_are_kept_out, start_all, end_all),
        cmocka_unit_test_setup_teardown(test_power_cuts, start_all, check_power_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
