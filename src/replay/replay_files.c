/* SPDX-License-Identifier: ISC
 *
 * What to replay: turns paths of the command line into a list of messages. */
#include "replay/replay_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/replay_mbox.h"

/* A file. The workers read its messages: they open it by name or inherit the descriptor. */
struct file {
    char *path;
    int fd; /* the contents of standard input in an unlinked file; -1: open the file by name */
    enum mbox_quoting quoting;
};

struct item {
    guint file;             /* index among the files */
    guint number;           /* in its mbox, from 1; 0: the file is the message */
    struct mbox_message at; /* if number is 0, size 0, which means the whole file */
};

struct replay_files {
    GArray *files;
    GArray *items;
    guint next;
};

struct replay_files *replay_files_new(void)
{
    struct replay_files *files = base_alloc(sizeof(*files));
    files->files = g_array_new(FALSE, TRUE, sizeof(struct file));
    files->items = g_array_new(FALSE, TRUE, sizeof(struct item));
    return files;
}

size_t replay_files_count(const struct replay_files *files)
{
    return files->items->len;
}

void replay_files_free(struct replay_files **files)
{
    if (*files == NULL)
        return;
    for (guint i = 0; i < (*files)->files->len; i++) {
        struct file *file = &g_array_index((*files)->files, struct file, i);
        base_free(&file->path);
        base_close(&file->fd);
    }
    g_array_unref((*files)->files);
    g_array_unref((*files)->items);
    base_free(files);
}

static bool is_called_a_message(const char *path)
{
    return g_str_has_suffix(path, ".eml") || g_str_has_suffix(path, ".msg");
}

/* Adds the messages of an open file. keep_fd: the workers must read from this descriptor. */
static bool add_open_file(struct replay_files *files, const char *path, int fd, bool keep_fd, struct fault *fault)
{
    struct file file = {.fd = keep_fd ? fd : -1, .quoting = MBOX_PLAIN};
    GArray *messages = NULL;
    if (!is_called_a_message(path) && !mbox_scan(fd, &messages, &file.quoting, fault)) {
        fault_prefix(fault, "%s", path);
        return false;
    }
    if (messages == NULL)
        file.quoting = MBOX_PLAIN;
    file.path = base_strdup(path);
    g_array_append_val(files->files, file);
    guint count = messages != NULL ? messages->len : 1;
    for (guint i = 0; i < count; i++) {
        struct item item = {.file = files->files->len - 1};
        if (messages != NULL) {
            item.number = i + 1;
            item.at = g_array_index(messages, struct mbox_message, i);
        }
        g_array_append_val(files->items, item);
    }
    g_clear_pointer(&messages, g_array_unref);
    return true;
}

static bool add_file(struct replay_files *files, const char *path, struct fault *fault)
{
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fault_set(fault, "%s: %m", path);
        return false;
    }
    return add_open_file(files, path, fd, false, fault);
}

/* Standard input can be read only once, and by one process: copies it to an unnamed file. */
static int spool(struct fault *fault)
{
    char chunk[65536];
    ssize_t n;
    const char *directory = getenv("TMPDIR");
    char *name OD_CLEANUP(base_free) = base_printf("%s/oncedrop.XXXXXX", directory != NULL ? directory : "/tmp");
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    while (fd >= 0 && (n = read(STDIN_FILENO, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || write(fd, chunk, (size_t)n) != n) {
            fault_set(fault, "standard input: %m");
            base_close(&fd);
            return -1;
        }
    }
    if (fd < 0)
        fault_set(fault, "cannot create temporary file %s for standard input: %m", name);
    return fd;
}

static bool add_standard_input(struct replay_files *files, struct fault *fault)
{
    int fd = spool(fault);
    if (fd < 0)
        return false;
    if (lseek(fd, 0, SEEK_END) == 0) {
        fault_set(fault, "standard input is empty");
        close(fd);
        return false;
    }
    if (add_open_file(files, "-", fd, true, fault))
        return true;
    close(fd);
    return false;
}

static bool has_directory(const char *path, const char *name)
{
    struct stat status;
    char *inside OD_CLEANUP(base_free) = base_printf("%s/%s", path, name);
    return stat(inside, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_maildir(const char *path)
{
    return has_directory(path, "cur") && has_directory(path, "new");
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool stands_in_maildir(const FTSENT *entry)
{
    char *directory OD_CLEANUP(base_free) = base_strndup(entry->fts_path, entry->fts_pathlen - entry->fts_namelen - 1U);
    return is_maildir(directory);
}

/* Whether to descend into a directory. A Maildir's tmp is not delivered yet; names of its folders begin with dots. */
static bool enters(const FTSENT *entry)
{
    if (entry->fts_level == 0)
        return true;
    bool in_maildir = stands_in_maildir(entry);
    if (in_maildir && strcmp(entry->fts_name, "tmp") == 0)
        return false;
    return entry->fts_name[0] != '.' || in_maildir;
}

/* Apart from those in cur and new, the files in a Maildir are the server's own. */
static bool counts(const FTSENT *entry)
{
    return entry->fts_name[0] != '.' && !stands_in_maildir(entry);
}

/* Whether a symbolic link stands where a Maildir has messages, or is one of its folders: these would be left out. */
static bool is_missed_link(const FTSENT *entry)
{
    if (entry->fts_info != FTS_SL && entry->fts_info != FTS_SLNONE)
        return false;
    char *directory OD_CLEANUP(base_free) = base_strndup(entry->fts_path, entry->fts_pathlen - entry->fts_namelen - 1U);
    char *above OD_CLEANUP(base_free) = base_printf("%s/..", directory);
    return (is_maildir(directory) && has_directory(directory, entry->fts_name)) ||
           (is_maildir(above) && entry->fts_name[0] != '.');
}

static bool add_directory(struct replay_files *files, const char *path, struct fault *fault)
{
    char *root OD_CLEANUP(base_free) = base_strdup(path);
    char *const roots[] = {root, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    bool good = tree != NULL;
    if (tree == NULL)
        fault_set(fault, "%s: %m", path);
    for (FTSENT *entry; good && (entry = fts_read(tree)) != NULL;) {
        if (entry->fts_info == FTS_D && !enters(entry))
            fts_set(tree, entry, FTS_SKIP);
        if (entry->fts_info == FTS_F && counts(entry))
            good = add_file(files, entry->fts_path, fault);
        if (is_missed_link(entry)) {
            fault_set(fault,
                      "%s: is a symbolic link, and none is followed in a directory; give what it leads to as a"
                      " path of its own, and the Maildir without it",
                      entry->fts_path);
            good = false;
        }
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
            errno = entry->fts_errno;
            fault_set(fault, "%s: %m", entry->fts_path);
            good = false;
        }
    }
    if (tree != NULL)
        fts_close(tree);
    return good;
}

bool replay_files_add(struct replay_files *files, const char *path, struct fault *fault)
{
    struct stat status;
    guint before = files->items->len;
    if (strcmp(path, "-") == 0)
        return add_standard_input(files, fault);
    if (stat(path, &status) != 0) {
        fault_set(fault, "%s: %m", path);
        return false;
    }
    if (!(S_ISDIR(status.st_mode) ? add_directory(files, path, fault) : add_file(files, path, fault)))
        return false;
    if (files->items->len == before)
        fault_set(fault, "%s: contains no message", path);
    return files->items->len > before;
}

bool replay_files_next(void *context, char **ret_name, GVariant **ret_task)
{
    struct replay_files *files = context;
    if (files->next == files->items->len)
        return false;
    const struct item *item = &g_array_index(files->items, struct item, files->next++);
    const struct file *file = &g_array_index(files->files, struct file, item->file);
    *ret_name = item->number > 0 ? base_printf("%s:%u", file->path, item->number) : base_strdup(file->path);
    *ret_task = g_variant_new("(^ayixxxu)", file->path, file->fd, item->at.offset, item->at.size, item->at.from_time,
                              item->number > 0 ? file->quoting + 1U : 0U);
    return true;
}
