/* SPDX-License-Identifier: ISC
 *
 * Self-tests. Child processes open the ledger: a session must not cross fork(2), and only another process can test a
 * lock. */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite/lite.h"

#define MIB UINT64_C(1048576)
#define GIB (1024 * MIB)
#define FREE_BAD (16 * MIB) /* large messages may not fit */
#define FREE_DOUBTFUL (256 * MIB)

/* Results of children, in shared memory. */
struct findings {
    const struct config *config;
    int64_t key;          /* random: of no message */
    bool waits;           /* for the writer's lock */
    bool done;            /* else error is set */
    bool message, writer; /* which locks were granted */
    struct error error;
};

static void end_findings(struct findings **it)
{
    (void)munmap(*it, sizeof(**it));
}

static struct findings *begin_findings(const struct config *config)
{
    struct findings *it = mmap(NULL, sizeof(*it), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (it == MAP_FAILED)
        abort();
    it->config = config;
    return it;
}

/* Runs a function in a child that dies with this process. Returns its status once it ends or stops. */
static int in_child(struct findings *it, void (*run)(struct findings *it), pid_t *ret_child)
{
    pid_t parent = getpid();
    int status = 0;
    it->done = false;
    error_set(&it->error, "the test's process ended early");
    *ret_child = fork();
    if (*ret_child == 0) {
        if (spawn_end_with(parent, SIGKILL))
            run(it);
        _exit(0);
    }
    if (*ret_child < 0)
        error_set(&it->error, "cannot start a process for the test: %m");
    else
        (void)TEMP_FAILURE_RETRY(waitpid(*ret_child, &status, WUNTRACED));
    return status;
}

static struct sql_session *open_ledger(struct findings *it)
{
    return lite_open(it->config, "", &it->error);
}

static bool lock_message(struct findings *it, struct sql_session *lite)
{
    const struct sql_value key = SQL_NUMBER(it->key);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        lite_execute(lite, "SELECT oncedrop_lock($1)", "n", 1, &key, &it->error);
    it->message = rows != NULL && sql_number(rows, 0, 0) == 1;
    return rows != NULL;
}

/* Acquires both locks, and stops. */
static void keep_lock(struct findings *it)
{
    struct sql_session *lite = open_ledger(it);
    it->done = lite != NULL && lock_message(it, lite) && lite_script(lite, "BEGIN IMMEDIATE", &it->error);
    if (it->done)
        (void)raise(SIGSTOP);
}

static void test_exclusion(struct findings *it)
{
    struct sql_session *lite = open_ledger(it);
    it->done = lite != NULL && lock_message(it, lite);
    if (!it->done)
        return;
    it->writer = it->waits ? lite_script(lite, "BEGIN IMMEDIATE", &it->error) : lite_writer_is_free();
    lite_close(lite);
}

static enum sql_self_test test_lock_files(const struct findings *held, const struct findings *after, struct error *ret)
{
    if (held->message || held->writer)
        error_set(ret,
                  "a second process is given the %s while another has it; the file system of %s does not keep locks:"
                  " put the ledger on a local disk",
                  held->message ? "lock of a message" : "writer's lock", lite_path(held->config));
    else if (!after->message || !after->writer)
        error_set(ret, "the %s is not free after the death of the process that had it; see /proc/locks",
                  !after->message ? "lock of a message" : "writer's lock");
    else {
        error_set(ret,
                  "a message's lock and the writer's keep a second process out, and are free when the first is killed");
        return SQL_SELF_TEST_OK;
    }
    return SQL_SELF_TEST_FAILED;
}

static enum sql_self_test test_locks(const struct config *config, struct error *ret)
{
    struct findings *it OD_CLEANUP(end_findings) = begin_findings(config);
    pid_t holder, other;
    if (!base_random(&it->key, ret))
        return SQL_SELF_TEST_FAILED;
    int status = in_child(it, keep_lock, &holder);
    bool tried = it->done && it->message && WIFSTOPPED(status);
    if (it->done && !it->message)
        error_set(&it->error, SQL_NOT_GRANTED);
    if (tried)
        (void)in_child(it, test_exclusion, &other);
    tried = tried && it->done;
    struct findings held = *it;
    (void)base_kill(&holder);
    it->waits = true;
    if (tried)
        (void)in_child(it, test_exclusion, &other);
    if (tried && it->done)
        return test_lock_files(&held, it, ret);
    *ret = it->error;
    return SQL_SELF_TEST_FAILED;
}

static bool owner_of_files(const struct config *config, uid_t *ret, struct error *error)
{
    const char *user = config->service.user;
    const struct passwd *found = user[0] != '\0' ? getpwnam(user) : NULL;
    if (user[0] != '\0' && found == NULL)
        return error_set(error, "there is no user %s (service.user), to whom the ledger must belong", user);
    *ret = found != NULL ? found->pw_uid : geteuid();
    return true;
}

/* A missing file is fine. */
static bool test_file(const struct config *config, const char *path, uid_t owner, struct error *ret)
{
    const char *ledger = lite_path(config), *user = config->service.user[0] != '\0' ? config->service.user : "$USER";
    g_autofree char *directory = g_path_get_dirname(ledger);
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT || lite_file_fail("examine", path, ret);
    unsigned mode = status.st_mode & 07777;
    if (status.st_uid != owner)
        return error_set(ret, "%s does not belong to %s (service.user)" ERROR_HINT "chown %s %s %s*", path, user, user,
                         directory, ledger);
    if (S_ISDIR(status.st_mode))
        return (mode & 022) == 0 ||
               error_set(ret,
                         "others may write to %s (mode %04o), and put another file in the ledger's place" ERROR_HINT
                         "chmod go-w %s",
                         path, mode, path);
    if ((mode & 0137) != 0)
        return error_set(ret,
                         "%s has mode %04o: others may do more than its group may, which is to read" ERROR_HINT
                         "chmod u=rw,g-wx,o= %s*",
                         path, mode, ledger);
    return status.st_nlink == 1 ||
           error_set(ret, "%s has a second name, a hard link, by which it would be damaged: remove that", path);
}

static enum sql_self_test test_files(const struct config *config, struct error *ret)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    g_autofree char *directory = g_path_get_dirname(lite_path(config));
    uid_t owner = 0;
    bool good = owner_of_files(config, &owner, ret) && test_file(config, directory, owner, ret);
    for (size_t i = 0; good && i < G_N_ELEMENTS(ends); i++) {
        char *path OD_CLEANUP(base_free) = base_printf("%s%s", lite_path(config), ends[i]);
        good = test_file(config, path, owner, ret);
    }
    if (good)
        error_set(ret, "%s and the files next to it belong to service.user, and no other user may write there",
                  lite_path(config));
    return good ? SQL_SELF_TEST_OK : SQL_SELF_TEST_FAILED;
}

static enum sql_self_test test_room(const struct config *config, struct error *ret)
{
    g_autofree char *directory = g_path_get_dirname(lite_path(config));
    struct statvfs disk;
    if (statvfs(directory, &disk) != 0) {
        lite_file_fail("examine", directory, ret);
        return SQL_SELF_TEST_FAILED;
    }
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    enum sql_self_test self_test = room < FREE_BAD        ? SQL_SELF_TEST_FAILED
                                   : room < FREE_DOUBTFUL ? SQL_SELF_TEST_WARNING
                                                          : SQL_SELF_TEST_OK;
    error_set(ret, "%llu %s are free in %s%s", (unsigned long long)(room / (room < 10 * GIB ? MIB : GIB)),
              room < 10 * GIB ? "MiB" : "GiB", directory,
              self_test == SQL_SELF_TEST_OK
                  ? ""
                  : ": when it is full, all mail is deferred; make room, or run: oncedrop purge");
    return self_test;
}

const struct sql_self_tester lite_self_tests[] = {
    {"files", false, test_files},
    {"room", false, test_room},
    {"processes", true, test_locks},
    {.name = NULL},
};
