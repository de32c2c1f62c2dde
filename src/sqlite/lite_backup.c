/* SPDX-License-Identifier: ISC
 *
 * Copies the ledger in a read transaction: deliveries continue, but no checkpoint completes meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sqlite/lite.h"

static bool fail(sqlite3 *db, const char *path, int error, struct fault *fault)
{
    fault_set(fault, "database: %s: %s", path, db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(error));
    g_strlcpy(fault->code, lite_error_name(error), sizeof(fault->code));
    return false;
}

static bool copy_into(const struct config *config, const char *file, struct fault *fault)
{
    sqlite3_stmt *statement = NULL;
    struct sql_session *lite = lite_open(config, "", fault);
    if (lite == NULL)
        return false;
    int error = sqlite3_prepare_v2(lite->db, "VACUUM INTO ?", -1, &statement, NULL);
    if (error == SQLITE_OK)
        error = sqlite3_bind_text(statement, 1, file, -1, SQLITE_STATIC);
    if (error == SQLITE_OK && (error = sqlite3_step(statement)) == SQLITE_DONE)
        error = SQLITE_OK;
    bool done = error == SQLITE_OK || lite_fail(lite, error, fault);
    (void)sqlite3_finalize(statement);
    lite_close(lite);
    return done;
}

/* Sets WAL mode, as the ledger has. EXCLUSIVE: without a -shm file. */
static bool set_log(const char *file, struct fault *fault)
{
    sqlite3 *db = NULL;
    int error = sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (error == SQLITE_OK)
        error = sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    bool done = error == SQLITE_OK || fail(db, file, error, fault);
    (void)sqlite3_close(db);
    return done;
}

static bool sync_path(const char *path, int flags, struct fault *fault)
{
    int fd OD_CLEANUP(base_close) = open(path, flags | O_RDONLY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) || fault_set(fault, "database: %s: %m", path);
}

bool lite_backup(const struct config *config, const char *file, struct fault *fault)
{
    const char *path = lite_path(config);
    g_autofree char *directory = g_path_get_dirname(file);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return fault_set(fault, "database: there is no %s", path);
    int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fault_set(fault, "%s: %m", file);
    (void)fchmod(fd, 0640);
    (void)close(fd);
    if (copy_into(config, file, fault) && set_log(file, fault) && sync_path(file, 0, fault) &&
        sync_path(directory, O_DIRECTORY, fault))
        return true;
    (void)unlink(file);
    return false;
}
