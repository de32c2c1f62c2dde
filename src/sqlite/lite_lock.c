/* SPDX-License-Identifier: ISC
 *
 * Uses F_SETLK: locks of an open file description survive in a forked child, and do not name their holder. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sqlite/lite.h"

#define KEY_BITS INT64_C(0x3fffffffffffffff)     /* of a key: its byte */
#define WRITER (INT64_C(0x3fffffffffffffff) + 1) /* the byte after those */

/* Per process, which has one ledger. */
static int lock_file = -1;
static char *lock_path;
static struct sql_session *writer;
static GHashTable *held;       /* message locks: byte -> session */
static _Atomic bool *reported; /* whether there is any; may be NULL */

void lite_lock_report_to(_Atomic bool *ret)
{
    atomic_store(ret, false);
    reported = ret;
}

static void report(void)
{
    if (reported != NULL)
        atomic_store(reported, g_hash_table_size(held) > 0);
}

static bool lock_file_replaced(void)
{
    struct stat ours, named;
    return fstat(lock_file, &ours) != 0 || stat(lock_path, &named) != 0 || ours.st_dev != named.st_dev ||
           ours.st_ino != named.st_ino;
}

/* Closes a lock file that was replaced, and so excludes no process, unless a session has a lock on it. */
static void forget_replaced(void)
{
    if (lock_path == NULL || writer != NULL || g_hash_table_size(held) > 0 || !lock_file_replaced())
        return;
    (void)close(lock_file);
    lock_file = -1;
    g_clear_pointer(&held, g_hash_table_destroy);
    base_free(&lock_path);
}

bool lite_lock_open(const char *path, struct error *error)
{
    char *name OD_CLEANUP(base_free) = base_printf("%s-lock", path);
    forget_replaced();
    if (lock_path != NULL && strcmp(lock_path, name) == 0)
        return true;
    if (lock_path != NULL)
        return error_set(error, "database: this process has another ledger, %s, already", lock_path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) {
        lite_file_fail("open", name, error);
        g_strlcpy(error->code, lite_error_name(SQLITE_CANTOPEN), sizeof(error->code));
        return false;
    }
    lock_file = fd;
    lock_path = g_steal_pointer(&name);
    held = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    return true;
}

static struct flock byte_at(int64_t at, short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
}

static bool take_writer(struct sql_session *lite, struct error *error)
{
    struct flock lock = byte_at(WRITER, F_WRLCK);
    while (fcntl(lock_file, F_SETLKW, &lock) != 0)
        if (errno != EINTR)
            return lite_file_fail("lock", lock_path, error);
    writer = lite;
    lite->writes = true;
    return true;
}

/* Returns whether the names still lead to the open files; else the session is lost. */
static bool files_in_place(struct sql_session *lite, struct error *error)
{
    if (!lock_file_replaced())
        return lite_files_unchanged(lite, lock_file, error);
    lite->lost = true;
    return error_set(error, LITE_CHANGED, lock_path, "", LITE_MOVED);
}

bool lite_lock_writer(struct sql_session *lite, struct error *error)
{
    if (lite->writes)
        return true;
    if (writer != NULL) /* waiting would deadlock */
        return error_set(error, "database: another session of this process is writing to %s", lite->path);
    return take_writer(lite, error) && (files_in_place(lite, error) || (lite_unlock_writer(lite), false));
}

bool lite_lock_to_open(struct sql_session *lite, struct error *error)
{
    return writer != NULL || take_writer(lite, error);
}

int lite_lock_file(void)
{
    return lock_file;
}

static void unlock(int64_t at)
{
    struct flock lock = byte_at(at, F_UNLCK);
    (void)fcntl(lock_file, F_SETLK, &lock);
}

bool lite_writer_is_free(void)
{
    struct flock lock = byte_at(WRITER, F_WRLCK);
    bool is_free = fcntl(lock_file, F_SETLK, &lock) == 0;
    if (is_free)
        unlock(WRITER);
    return is_free;
}

void lite_unlock_writer(struct sql_session *lite)
{
    if (!lite->writes)
        return;
    unlock(WRITER);
    writer = NULL;
    lite->writes = false;
}

static int64_t byte_of(sqlite3_value *key)
{
    return sqlite3_value_int64(key) & KEY_BITS;
}

/* oncedrop_lock(key): acquires it; returns whether this session has it. */
static void sql_lock(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct sql_session *lite = sqlite3_user_data(context);
    int64_t at = byte_of(values[0]);
    struct flock lock = byte_at(at, F_WRLCK);
    (void)count;
    struct sql_session *owner = g_hash_table_lookup(held, &at);
    if (owner == NULL && fcntl(lock_file, F_SETLK, &lock) == 0) {
        g_hash_table_insert(held, g_memdup2(&at, sizeof(at)), lite);
        report();
        owner = lite;
    } else if (owner == NULL && errno != EAGAIN && errno != EACCES) {
        sqlite3_result_error(context, strerror(errno), -1);
        return;
    }
    sqlite3_result_int(context, owner == lite);
}

/* oncedrop_locked(key): returns whether this session has it. */
static void sql_locked(sqlite3_context *context, int count, sqlite3_value **values)
{
    int64_t at = byte_of(values[0]);
    (void)count;
    sqlite3_result_int(context, g_hash_table_lookup(held, &at) == sqlite3_user_data(context));
}

static void unlock_message(struct sql_session *lite, int64_t at)
{
    if (g_hash_table_lookup(held, &at) != lite)
        return;
    unlock(at);
    g_hash_table_remove(held, &at);
    report();
}

void lite_unlock_released(struct sql_session *lite, bool committed)
{
    for (guint i = 0; committed && i < lite->unlocks->len; i++)
        unlock_message(lite, g_array_index(lite->unlocks, int64_t, i));
    g_array_set_size(lite->unlocks, 0);
}

static void release_all(struct sql_session *lite)
{
    GHashTableIter iter;
    gpointer at, owner;
    g_hash_table_iter_init(&iter, held);
    while (g_hash_table_iter_next(&iter, &at, &owner))
        if (owner == lite)
            g_array_append_val(lite->unlocks, *(int64_t *)at);
}

void lite_unlock_all(struct sql_session *lite)
{
    lite_unlock_writer(lite);
    if (held != NULL)
        release_all(lite);
    lite_unlock_released(lite, true);
}

/* oncedrop_unlock(key): releases it at COMMIT, or at once outside a transaction. NULL: all of this session. */
static void sql_unlock(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct sql_session *lite = sqlite3_user_data(context);
    int64_t at = byte_of(values[0]);
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL)
        release_all(lite);
    else
        g_array_append_val(lite->unlocks, at);
    if (sqlite3_get_autocommit(lite->db))
        lite_unlock_released(lite, true);
}

/* oncedrop_holder(key): the process that has the lock; NULL: none, or this one. */
static void sql_holder(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct flock lock = byte_at(byte_of(values[0]), F_WRLCK);
    (void)count;
    if (fcntl(lock_file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        sqlite3_result_int64(context, lock.l_pid);
}

bool lite_lock_functions(struct sql_session *lite, struct error *error)
{
    static const struct {
        const char *name;
        void (*function)(sqlite3_context *context, int count, sqlite3_value **values);
    } functions[] = {
        {"oncedrop_lock", sql_lock},
        {"oncedrop_locked", sql_locked},
        {"oncedrop_unlock", sql_unlock},
        {"oncedrop_holder", sql_holder},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        int rc = sqlite3_create_function_v2(lite->db, functions[i].name, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, lite,
                                            functions[i].function, NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            return lite_fail(lite, rc, error);
    }
    return true;
}
