/* SPDX-License-Identifier: ISC
 *
 * Opens the file so that a COMMIT is durable. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sqlite/lite.h"

const char *lite_path(const struct config *config)
{
    return config->database.conninfo + strlen(CONFIG_SQLITE);
}

/* Neither locks nor SQLite's shared memory work between hosts (sqlite.org/wal.html). */
static bool check_file_system(const char *path, struct error *error)
{
    static const struct {
        unsigned long magic;
        const char *name;
    } refused[] = {
        {NFS_SUPER_MAGIC, "NFS"},   {0xff534d42, "CIFS"},     {SMB2_SUPER_MAGIC, "SMB"},  {0x01021997, "9p"},
        {CEPH_SUPER_MAGIC, "Ceph"}, {AFS_SUPER_MAGIC, "AFS"}, {CODA_SUPER_MAGIC, "Coda"}, {0x7461636f, "OCFS2"},
        {0x01161970, "GFS2"},       {0x0bd00bd0, "Lustre"},
    };
    struct statfs status;
    if (statfs(path, &status) != 0)
        return lite_file_fail("examine the file system of", path, error);
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        if ((unsigned long)status.f_type == refused[i].magic)
            return error_set(error,
                             "database: %s is on %s, a file system that several hosts share: there a file cannot keep"
                             " deliveries apart; put it on a local disk, or use PostgreSQL",
                             path, refused[i].name);
    return true;
}

static void sql_now(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_int64(context, base_wall_us());
}

/* oncedrop_sha256(a, b): hashes the concatenation. */
static void sql_sha256(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct sha256 sha256;
    unsigned char digest[SHA256_SIZE];
    sha256_begin(&sha256);
    for (int i = 0; i < count; i++) {
        const void *data = sqlite3_value_blob(values[i]);
        sha256_feed(&sha256, data, (size_t)sqlite3_value_bytes(values[i]));
    }
    sha256_end(&sha256, digest);
    sqlite3_result_blob(context, digest, sizeof(digest), SQLITE_TRANSIENT);
}

static int record_log(void *context, sqlite3 *db, const char *name, int pages)
{
    struct sql_session *lite = context;
    (void)db;
    (void)name;
    lite->log_pages = pages;
    return SQLITE_OK;
}

/* Requires WAL mode: else a power failure can undo a COMMIT, unless synchronous is EXTRA (sqlite.org/pragma.html).
 * The file's creator may have died before setting it. */
static bool check_log(struct sql_session *lite, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(lite->db, "PRAGMA journal_mode", -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    bool is_there = rc == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
    if (rc != SQLITE_ROW)
        lite_fail(lite, rc, error);
    else if (!is_there)
        error_set(error, "database: %s " LITE_NO_LOG, lite->path);
    (void)sqlite3_finalize(statement);
    return is_there;
}

/* No checkpoint on close: the next process would recreate the log. FULL: a COMMIT is durable. */
static bool set_up(struct sql_session *lite, struct error *error)
{
    static const char pragmas[] =
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;"
        "PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 0";
    int rc = sqlite3_db_config(lite->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(lite->db, SQL_TIMEOUT_MS); /* while another process recovers the log */
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(lite->db, pragmas, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(lite->db, "oncedrop_now", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, sql_now,
                                        NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(lite->db, "oncedrop_sha256", 2,
                                        SQLITE_UTF8 | SQLITE_DIRECTONLY | SQLITE_DETERMINISTIC, NULL, sql_sha256, NULL,
                                        NULL, NULL);
    if (rc != SQLITE_OK)
        return lite_fail(lite, rc, error);
    sqlite3_wal_hook(lite->db, record_log, lite);
    return check_log(lite, error) && lite_lock_functions(lite, error);
}

static bool refuse_user(const struct config *config, const char *path, struct error *error)
{
    int rc = errno;
    const struct passwd *user = getpwuid(geteuid());
    const char *name = user != NULL ? user->pw_name : "without a name", *owner = config->service.user;
    bool is_other = rc == EACCES && owner[0] != '\0' && strcmp(name, owner) != 0;
    error_set(error, "database: %s: %s for the user %s%s%s%s", path, strerror(rc), name, is_other ? "; root and " : "",
              is_other ? owner : "", is_other ? " (service.user) may open it" : "");
    g_strlcpy(error->code, rc == EACCES ? "PERM" : "", sizeof(error->code));
    return false;
}

/* Refuses a symbolic link, which would give the ledger two lock files, and root unless it owns the file: the owner
 * could not open what root creates. */
static bool check_file(const struct config *config, const char *path, struct error *error)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT
                   ? error_set(error,
                               "database: there is no %s; run: oncedrop ledger install; if there was one: " LITE_DAMAGE,
                               path)
                   : refuse_user(config, path, error);
    if (!S_ISREG(status.st_mode))
        return error_set(error, "database: %s is no regular file; name the file itself", path);
    if (geteuid() == 0 && status.st_uid != 0)
        return error_set(error,
                         "database: %s does not belong to root, as whom this runs; set service.user to its owner",
                         path);
    return access(path, R_OK | W_OK) == 0 || refuse_user(config, path, error);
}

static bool connect_file(struct sql_session *lite, struct error *error)
{
    int rc = sqlite3_open_v2(lite->path, &lite->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                             NULL);
    return rc == SQLITE_OK ? set_up(lite, error) : lite_fail(lite, rc, error);
}

static void disconnect(struct sql_session *lite)
{
    lite_session_end(lite);
    lite->lost = false;
}

/* Opens and records files that are not as recorded; repeats if SQLite created some. Precondition: the writer's lock,
 * since a writer may have other files, and a new index must include its commits. */
static bool open_locked(struct sql_session *lite, struct error *error)
{
    struct lite_files before;
    if (!lite_files_prepare(lite, lite_lock_file(), error))
        return false;
    for (int i = 0; i < 3; i++) {
        if (!lite_files_see(lite->path, &before))
            return lite_file_fail("examine the files of", lite->path, error);
        if (!connect_file(lite, error))
            return false;
        if (lite_files_join(lite, &before)) {
            if (!lite_files_sync_directory(lite->path, error))
                return false;
            lite_files_record(lite->path, lite_lock_file());
            return true;
        }
        disconnect(lite);
    }
    return error_set(error, LITE_CHANGED, lite->path, "", LITE_MOVED);
}

static bool open_files(struct sql_session *lite, struct error *error)
{
    struct lite_files before, now;
    if (lite_files_recorded(lite->path, lite_lock_file(), &before)) {
        bool connected = connect_file(lite, error);
        if (connected && lite_files_join(lite, &before))
            return true;
        if (!connected && lite_files_see(lite->path, &now) && lite_files_same(&before, &now))
            return false;
        disconnect(lite);
    }
    if (!lite_lock_to_open(lite, error))
        return false;
    bool opened = open_locked(lite, error);
    lite_unlock_writer(lite);
    return opened;
}

struct sql_session *lite_open(const struct config *config, const char *application, struct error *error)
{
    struct sql_session *lite = lite_session_new(lite_path(config));
    (void)application;
    lite->accounts = lite_accounts_new(config);
    lite_files_sync_once();
    if (check_file(config, lite->path, error) && check_file_system(lite->path, error) &&
        lite_lock_open(lite->path, error) && open_files(lite, error))
        return lite;
    lite_close(lite);
    return NULL;
}

void lite_close(struct sql_session *lite)
{
    lite_accounts_free(&lite->accounts);
    lite_session_end(lite); /* rolls back an open transaction before unlocking */
    lite_files_leave(lite);
    lite_unlock_all(lite);
    lite_session_free(lite);
}

static bool refuse_directory(const struct config *config, struct error *error)
{
    g_autofree char *directory = g_path_get_dirname(lite_path(config));
    if ((errno != ENOENT && errno != EACCES) || config->service.user[0] == '\0')
        return lite_file_fail("create", lite_path(config), error);
    return error_set(error, "database: cannot create %s: %m" ERROR_HINT "install -d -m 750 -o %s %s", lite_path(config),
                     config->service.user, directory);
}

/* Sets WAL mode. Precondition: the writer's lock: this may create an index. */
static bool begin_log(struct sql_session *lite, struct error *error)
{
    if (!lite_files_prepare(lite, lite_lock_file(), error))
        return false;
    int rc = sqlite3_open_v2(lite->path, &lite->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(lite->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(lite->db, SQL_TIMEOUT_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(lite->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    return rc == SQLITE_OK || error_set(error, "database: %s: %s", lite->path, sqlite3_errmsg(lite->db));
}

bool lite_create(const struct config *config, struct error *error)
{
    const char *path = lite_path(config);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST)
        return refuse_directory(config, error);
    if (fd >= 0) {
        (void)fchmod(fd, 0640);
        (void)close(fd);
    }
    struct sql_session *lite = lite_session_new(path);
    bool created = (fd >= 0 || check_file(config, path, error)) && lite_lock_open(path, error) &&
                   lite_lock_to_open(lite, error) && begin_log(lite, error);
    lite_close(lite);
    return created;
}
