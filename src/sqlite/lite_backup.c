/* SPDX-License-Identifier: ISC
 *
 * Copies the ledger in a read transaction: deliveries continue, but no checkpoint completes meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sqlite/lite.h"

static bool copy_into(const struct config *config, const char *file, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    struct sql_session *lite = lite_open(config, "", error);
    if (lite == NULL)
        return false;
    int rc = sqlite3_prepare_v2(lite->db, "VACUUM INTO ?", -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(statement, 1, file, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_DONE)
        rc = SQLITE_OK;
    bool done = rc == SQLITE_OK || lite_fail(lite, rc, error);
    (void)sqlite3_finalize(statement);
    lite_close(lite);
    return done;
}

/* Sets WAL mode, as the ledger has. EXCLUSIVE: without a -shm file. */
static bool set_log(const char *file, struct error *error)
{
    struct sql_session *copy = lite_session_new(file);
    int rc =
        sqlite3_open_v2(file, &copy->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(copy->db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    bool done = rc == SQLITE_OK || lite_fail(copy, rc, error);
    lite_session_free(copy);
    return done;
}

static bool sync_path(const char *path, int flags, struct error *error)
{
    int fd OD_CLEANUP(base_close) = open(path, flags | O_RDONLY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) || lite_file_fail("sync", path, error);
}

bool lite_backup(const struct config *config, const char *file, struct error *error)
{
    const char *path = lite_path(config);
    g_autofree char *directory = g_path_get_dirname(file);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return error_set(error, "database: there is no %s", path);
    int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EACCES)
        return error_set(error, "%s: %m; user %s (service.user) must be able to write there", file,
                         config->service.user);
    if (fd < 0)
        return lite_file_fail("create", file, error);
    (void)fchmod(fd, 0640);
    (void)close(fd);
    if (copy_into(config, file, error) && set_log(file, error) && sync_path(file, 0, error) &&
        sync_path(directory, O_DIRECTORY, error))
        return true;
    (void)unlink(file);
    return false;
}
