/* SPDX-License-Identifier: ISC
 *
 * What to replay: turns paths of the command line into a list of messages. */
#include "replay/replay_files.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/replay_mbox.h"
#include "replay/replay_open.h"

/* A file, which the workers open again. */
struct file {
    char *path;  /* without symbolic links, for replay_open */
    char *shown; /* the name for people */
    int fd;      /* of the contents of standard input, which the workers inherit; -1: of another file */
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
    bool as_root;
    guint next;
};

static void file_clear(gpointer pointer)
{
    struct file *file = pointer;
    base_free(&file->path);
    base_free(&file->shown);
    base_close(&file->fd);
}

struct replay_files *replay_files_new(void)
{
    struct replay_files *files = base_alloc(sizeof(*files));
    files->files = g_array_new(FALSE, TRUE, sizeof(struct file));
    g_array_set_clear_func(files->files, file_clear);
    files->items = g_array_new(FALSE, TRUE, sizeof(struct item));
    files->as_root = geteuid() == 0;
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
    g_array_unref((*files)->files);
    g_array_unref((*files)->items);
    base_free(files);
}

static bool is_called_a_message(const char *path)
{
    return g_str_has_suffix(path, ".eml") || g_str_has_suffix(path, ".msg");
}

/* Adds the messages of an open file, and the file, which it takes over, even if there are none. */
static bool add_file(struct replay_files *files, struct file file, int fd, struct fault *fault)
{
    GArray *messages = NULL;
    enum mbox_quoting quoting;
    bool good = is_called_a_message(file.shown) || mbox_scan(fd, &messages, &quoting, fault);
    if (!good)
        fault_prefix(fault, "%s", file.shown);
    file.quoting = messages != NULL ? quoting : MBOX_PLAIN;
    g_array_append_val(files->files, file);
    guint count = messages != NULL ? messages->len : good;
    for (guint i = 0; i < count; i++) {
        struct item item = {.file = files->files->len - 1};
        if (messages != NULL) {
            item.number = i + 1;
            item.at = g_array_index(messages, struct mbox_message, i);
        }
        g_array_append_val(files->items, item);
    }
    g_clear_pointer(&messages, g_array_unref);
    return good;
}

static bool add_standard_input(struct replay_files *files, struct fault *fault)
{
    int fd = replay_open_input(fault);
    if (fd < 0)
        return false;
    if (lseek(fd, 0, SEEK_END) == 0) {
        fault_set(fault, "standard input is empty");
        base_close(&fd);
        return false;
    }
    return add_file(files, (struct file){.path = base_strdup("-"), .shown = base_strdup("-"), .fd = fd}, fd, fault);
}

static bool leads_to_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool has_cur_and_new(const char *directory)
{
    char *cur OD_CLEANUP(base_free) = base_printf("%s/cur", directory);
    char *new OD_CLEANUP(base_free) = base_printf("%s/new", directory);
    return leads_to_directory(cur) && leads_to_directory(new);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Of a directory, known from when it was entered. */
static bool is_maildir(const FTSENT *directory)
{
    return directory->fts_number != 0;
}

/* Whether something in a directory is read. A Maildir's tmp is not delivered yet; names of its folders begin with dots;
 * apart from those in cur and new, the files in a Maildir are the server's own. */
static bool counts(const FTSENT *entry)
{
    bool of_maildir = is_maildir(entry->fts_parent);
    if (entry->fts_info == FTS_D)
        return of_maildir ? strcmp(entry->fts_name, "tmp") != 0 : entry->fts_name[0] != '.';
    return entry->fts_name[0] != '.' && !of_maildir;
}

/* Whether a symbolic link stands where a Maildir has messages, or is one of its folders: these would be left out. Nor may
 * one take the place of the directory itself. */
static bool is_missed_link(const FTSENT *entry)
{
    if (entry->fts_level == 0)
        return true;
    return (is_maildir(entry->fts_parent) && leads_to_directory(entry->fts_path)) ||
           (is_maildir(entry->fts_parent->fts_parent) && entry->fts_name[0] != '.');
}

static bool open_and_add(struct replay_files *files, const char *real, const char *shown, struct fault *fault)
{
    int fd OD_CLEANUP(base_close) = replay_open(real, files->as_root, fault);
    if (fd < 0) {
        fault_prefix(fault, "%s", shown);
        return false;
    }
    return add_file(files, (struct file){base_strdup(real), base_strdup(shown), -1, MBOX_PLAIN}, fd, fault);
}

/* Adds what stands in a directory. */
static bool add_entry(struct replay_files *files, FTS *tree, FTSENT *entry, const char *shown, struct fault *fault)
{
    switch (entry->fts_info) {
    case FTS_D:
        entry->fts_number = has_cur_and_new(entry->fts_path);
        if (entry->fts_level > 0 && !counts(entry))
            fts_set(tree, entry, FTS_SKIP);
        return true;
    case FTS_F:
        return !counts(entry) || open_and_add(files, entry->fts_path, shown, fault);
    case FTS_SL:
        if (!is_missed_link(entry))
            return true;
        fault_set(fault,
                  "%s: is a symbolic link, and none is followed in a directory; give what it leads to as a path of its"
                  " own, and the Maildir without it",
                  shown);
        return false;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        fault_set(fault, "%s: %s", shown, strerror(entry->fts_errno));
        return false;
    default: /* no file, or a directory that was read */
        return true;
    }
}

static bool add_directory(struct replay_files *files, char *real, const char *shown, struct fault *fault)
{
    char *const paths[] = {real, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    bool good = tree != NULL, slash = g_str_has_suffix(shown, "/");
    if (!good)
        fault_set(fault, "%s: %m", shown);
    for (FTSENT *entry; good && (entry = fts_read(tree)) != NULL;) {
        const char *within = entry->fts_path + strlen(real);
        within += strspn(within, "/");
        char *name OD_CLEANUP(base_free) =
            entry->fts_level == 0 ? base_strdup(shown) : base_printf("%s%s%s", shown, slash ? "" : "/", within);
        good = add_entry(files, tree, entry, name, fault);
    }
    if (tree != NULL)
        fts_close(tree);
    return good;
}

bool replay_files_add(struct replay_files *files, const char *path, struct fault *fault)
{
    guint before = files->items->len;
    struct stat status;
    if (strcmp(path, "-") == 0)
        return add_standard_input(files, fault);
    char *real OD_CLEANUP(base_free) = files->as_root ? base_strdup(path) : realpath(path, NULL);
    if (real == NULL) {
        fault_set(fault, "%s: %m", path);
        return false;
    }
    int fd OD_CLEANUP(base_close) = replay_open(real, files->as_root, fault);
    if (fd < 0) {
        fault_prefix(fault, "%s", path);
        return false;
    }
    bool good = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) ? add_directory(files, real, path, fault)
                                                                   : open_and_add(files, real, path, fault);
    if (good && files->items->len == before)
        fault_set(fault, "%s: contains no message", path);
    return good && files->items->len > before;
}

bool replay_files_next(void *context, char **ret_name, GVariant **ret_task)
{
    struct replay_files *files = context;
    if (files->next == files->items->len)
        return false;
    const struct item *item = &g_array_index(files->items, struct item, files->next++);
    const struct file *file = &g_array_index(files->files, struct file, item->file);
    *ret_name = item->number > 0 ? base_printf("%s:%u", file->shown, item->number) : base_strdup(file->shown);
    *ret_task = g_variant_new("(^ayibxxxu)", file->path, file->fd, files->as_root, item->at.offset, item->at.size,
                              item->at.from_time, item->number > 0 ? file->quoting + 1U : 0U);
    return true;
}
