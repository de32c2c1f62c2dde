/* SPDX-License-Identifier: ISC
 *
 * Two sessions with different indexes of one log do not see each other's commits, and overwrite them. So the lock
 * file records the files in use. A session that opens others records them, with the writer's lock; sessions whose
 * files are not as recorded write nothing more. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "sqlite/lite.h"

#define MAKING_MS 50    /* for SQLite to extend a new index */
#define INDEX_MIN 32768 /* bytes; the smallest in use (sqlite.org/walformat.html) */

static const char *const ends[LITE_FILES] = {[LITE_LEDGER] = "", [LITE_LOG] = "-wal", [LITE_INDEX] = "-shm"};

/* The lock file's content. Valid until the next boot, which ends all sessions and may undo writes; and not in a copy
 * of the lock file. */
struct record {
    int64_t known; /* 0: a checkpoint is in progress, or was interrupted */
    int64_t boot;  /* base_boot() */
    int64_t lock_node;
    struct lite_files files;
};

/* A process's sessions share one index (unixShmNode in sqlite3.c), so they must have the same files. */
static size_t sessions;
static struct lite_files ours;

int64_t lite_files_node(int lock_file)
{
    struct stat status;
    return fstat(lock_file, &status) == 0 ? (int64_t)status.st_ino : 0;
}

static bool read_record(int lock_file, struct record *ret)
{
    return pread(lock_file, ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret) &&
           ret->lock_node == lite_files_node(lock_file) && ret->boot != 0 &&
           (base_boot() == 0 || base_boot() == ret->boot);
}

/* files: NULL clears the record. */
static bool write_record(int lock_file, const struct lite_files *files)
{
    struct record record;
    if (!read_record(lock_file, &record))
        record = (struct record){.boot = base_boot(), .lock_node = lite_files_node(lock_file)};
    record.known = files != NULL;
    if (files != NULL)
        record.files = *files;
    return pwrite(lock_file, &record, sizeof(record), 0) == (ssize_t)sizeof(record);
}

/* Returns false if none are recorded. */
static bool recorded_files(int lock_file, struct lite_files *ret)
{
    struct record record;
    if (!read_record(lock_file, &record) || record.known == 0)
        return false;
    *ret = record.files;
    ret->file[LITE_INDEX].size = 0; /* the first session recreates it with the smallest size */
    return true;
}

bool lite_files_see(const char *path, struct lite_files *ret)
{
    struct lite_files seen = {.written_ns = 0};
    for (size_t i = 0; i < LITE_FILES; i++) {
        char *name OD_CLEANUP(base_free) = base_printf("%s%s", path, ends[i]);
        struct stat status;
        if (stat(name, &status) != 0) {
            if (errno != ENOENT)
                return false;
            continue;
        }
        seen.file[i] = (struct lite_file){
            .device = (int64_t)status.st_dev,
            .node = (int64_t)status.st_ino,
            .size = status.st_size,
        };
        if (i == LITE_LEDGER)
            seen.written_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    }
    *ret = seen;
    return true;
}

/* Returns the first file replaced, removed or truncated, or LITE_FILES. Log and index only grow. */
static enum lite_which first_changed(const struct lite_files *was, const struct lite_files *now)
{
    enum lite_which which = LITE_LEDGER;
    while (which < LITE_FILES && now->file[which].node != 0 && was->file[which].device == now->file[which].device &&
           was->file[which].node == now->file[which].node &&
           (which == LITE_LEDGER || was->file[which].size <= now->file[which].size) &&
           (which != LITE_INDEX || now->file[which].size >= INDEX_MIN))
        which++;
    return which;
}

/* Returns whether the ledger was written, which only a checkpoint does. */
static bool is_written(const struct lite_files *was, const struct lite_files *now)
{
    return was->written_ns != now->written_ns || was->file[LITE_LEDGER].size != now->file[LITE_LEDGER].size;
}

bool lite_files_same(const struct lite_files *was, const struct lite_files *now)
{
    return first_changed(was, now) == LITE_FILES;
}

bool lite_files_recorded(const char *path, int lock_file, struct lite_files *ret)
{
    struct lite_files record;
    if (!lite_files_see(path, ret))
        return false;
    bool same = recorded_files(lock_file, &record) && lite_files_same(&record, ret) && !is_written(&record, ret);
    ret->file[LITE_INDEX].size = 0;
    return same;
}

/* Marks the session as lost. Clears the recorded index, so that the next session recreates it, unless one has done
 * so. Returns false. */
static bool declare_lost(struct sql_session *lite, int lock_file, const struct lite_files *now, const char *end,
                         const char *what, struct error *error)
{
    struct lite_files record;
    lite->lost = true;
    if (recorded_files(lock_file, &record) && (!lite_files_same(&record, now) || is_written(&record, now) ||
                                               lite->files.file[LITE_INDEX].node == now->file[LITE_INDEX].node)) {
        record.file[LITE_INDEX].node = 0;
        (void)write_record(lock_file, &record);
    }
    return error_set(error, LITE_CHANGED, lite->path, end, what);
}

bool lite_files_unchanged(struct sql_session *lite, int lock_file, struct error *error)
{
    struct lite_files now, record;
    if (!lite_files_see(lite->path, &now)) {
        lite->lost = true;
        return lite_file_fail("examine the files of", lite->path, error);
    }
    enum lite_which changed = first_changed(&lite->files, &now);
    bool known = recorded_files(lock_file, &record);
    if (changed == LITE_FILES && known)
        changed = first_changed(&record, &now);
    if (changed < LITE_FILES)
        return declare_lost(lite, lock_file, &now, ends[changed], LITE_MOVED, error);
    if (known && is_written(&record, &now))
        return declare_lost(lite, lock_file, &now, "", LITE_REPLACED, error);
    if (!known)
        (void)write_record(lock_file, &now); /* a checkpoint was interrupted */
    lite->files = now;
    return true;
}

static bool remove_index(const char *path, struct error *error)
{
    char *name OD_CLEANUP(base_free) = base_printf("%s%s", path, ends[LITE_INDEX]);
    return unlink(name) == 0 || lite_file_fail("remove", name, error);
}

/* Waits until a process that creates the index has extended it. */
static bool see_complete_index(const char *path, struct lite_files *ret)
{
    bool seen = lite_files_see(path, ret);
    for (int i = 0; seen && i < MAKING_MS && ret->file[LITE_INDEX].node != 0 && ret->file[LITE_INDEX].size < INDEX_MIN;
         i++) {
        (void)poll(NULL, 0, 1);
        seen = lite_files_see(path, ret);
    }
    return seen;
}

bool lite_files_prepare(struct sql_session *lite, int lock_file, struct error *error)
{
    struct lite_files now, record;
    bool known = recorded_files(lock_file, &record);
    if (!see_complete_index(lite->path, &now))
        return lite_file_fail("examine the files of", lite->path, error);
    bool has_log = now.file[LITE_LOG].size > 0, has_index = now.file[LITE_INDEX].node != 0;
    if (sessions > 0 && !lite_files_same(&ours, &now))
        return error_set(error, LITE_CHANGED, lite->path, "", LITE_MOVED);
    if (known && has_log && is_written(&record, &now))
        return error_set(error, "database: %s " LITE_REPLACED ": %s-wal belongs to the previous file", lite->path,
                         lite->path);
    if (known && (first_changed(&record, &now) == LITE_LEDGER || is_written(&record, &now)))
        log_warning("database: %s " LITE_REPLACED ": what only the previous file had is forgotten; " LITE_DAMAGE,
                    lite->path);
    if (has_index && now.file[LITE_LOG].node == 0)
        log_warning("database: %s-wal was removed: what was only in it is lost", lite->path);
    bool fits = known ? lite_files_same(&record, &now) && !is_written(&record, &now) : now.file[LITE_LOG].node != 0;
    return fits || !has_index || remove_index(lite->path, error);
}

void lite_files_record(const char *path, int lock_file)
{
    struct lite_files now;
    if (lite_files_see(path, &now))
        (void)write_record(lock_file, &now); /* on failure, opening the files requires the lock */
}

static int (*real_open_directory)(const char *, int *);

/* SQLite syncs a log's directory after each opening (unixSync in sqlite3.c). It goes on without, if this fails. */
static int open_log_directory(const char *log, int *ret_fd)
{
    const struct lite_file *known = &ours.file[LITE_LOG];
    struct stat status;
    bool is_ours = sessions > 0 && stat(log, &status) == 0 && (int64_t)status.st_ino == known->node &&
                   (int64_t)status.st_dev == known->device;
    return is_ours ? SQLITE_CANTOPEN : real_open_directory(log, ret_fd);
}

void lite_files_sync_once(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_syscall_ptr function = vfs->xGetSystemCall(vfs, "openDirectory");
    if (function == NULL || function == (sqlite3_syscall_ptr)open_log_directory)
        return;
    real_open_directory = (int (*)(const char *, int *))function;
    (void)vfs->xSetSystemCall(vfs, "openDirectory", (sqlite3_syscall_ptr)open_log_directory);
}

bool lite_files_sync_directory(const char *path, struct error *error)
{
    g_autofree char *directory = g_path_get_dirname(path);
    int fd OD_CLEANUP(base_close) = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) || lite_file_fail("sync", directory, error);
}

bool lite_files_forget(int lock_file)
{
    return write_record(lock_file, NULL);
}

bool lite_files_join(struct sql_session *lite, const struct lite_files *before)
{
    if (!lite_files_see(lite->path, &lite->files) || !lite_files_same(before, &lite->files) ||
        (sessions > 0 && !lite_files_same(&ours, &lite->files)))
        return false;
    if (sessions++ == 0)
        ours = lite->files;
    lite->joined = true;
    return true;
}

void lite_files_leave(struct sql_session *lite)
{
    sessions -= lite->joined;
    lite->joined = false;
}
