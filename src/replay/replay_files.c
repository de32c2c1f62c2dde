/* SPDX-License-Identifier: ISC */

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/replay_internal.h"

static void file_free(gpointer pointer)
{
    struct replay_file *file = pointer;
    base_free(&file->path);
    base_free(&file->shown);
    base_close(&file->fd);
    base_free(&file);
}

struct replay_files *replay_files_new(void)
{
    struct replay_files *files = base_alloc(sizeof(*files));
    files->envelope.recipients = g_ptr_array_new();
    files->files = g_ptr_array_new_with_free_func(file_free);
    files->items = g_array_new(FALSE, TRUE, sizeof(struct replay_item));
    files->as_root = geteuid() == 0;
    return files;
}

void replay_files_free(struct replay_files **files)
{
    g_ptr_array_unref((*files)->envelope.recipients);
    g_ptr_array_unref((*files)->files);
    g_array_unref((*files)->items);
    base_free(files);
}

static bool is_called_a_message(const char *path)
{
    return g_str_has_suffix(path, ".eml") || g_str_has_suffix(path, ".msg");
}

/* real: NULL if it cannot be opened again; fd is then taken over. single: it is one message. */
static bool add_file(struct replay_files *files, const char *real, const char *shown, int fd, bool single,
                     struct error *error)
{
    g_autoptr(GArray) messages = NULL;
    struct replay_file *file = base_alloc(sizeof(*file));
    *file = (struct replay_file){base_strdup(real), base_strdup(shown), real == NULL ? fd : -1};
    g_ptr_array_add(files->files, file);
    if (!single && !is_called_a_message(shown) && !mbox_scan(fd, files->dialect, &messages, error))
        return error_prefix(error, "%s", shown);
    struct replay_item item = {.file = file};
    if (messages == NULL)
        g_array_append_val(files->items, item);
    for (guint i = 0; messages != NULL && i < messages->len; i++) {
        item.number = i + 1;
        item.at = g_array_index(messages, struct mbox_message, i);
        g_array_append_val(files->items, item);
    }
    return true;
}

static bool add_standard_input(struct replay_files *files, struct error *error)
{
    int fd = replay_open_input(error);
    if (fd < 0 || !add_file(files, NULL, "-", fd, false, error))
        return false;
    return lseek(fd, 0, SEEK_END) > 0 || error_set(error, "standard input is empty");
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

static bool is_maildir(const FTSENT *directory)
{
    return directory->fts_number != 0;
}

/* Returns true for a file in a Maildir's cur or new. */
static bool is_of_maildir(const FTSENT *entry)
{
    const FTSENT *parent = entry->fts_parent;
    return entry->fts_level > 1 && is_maildir(parent->fts_parent) &&
           (strcmp(parent->fts_name, "cur") == 0 || strcmp(parent->fts_name, "new") == 0);
}

/* Of a Maildir, tmp is not delivered yet, folders begin with a dot, and files outside cur and new are the server's. */
static bool counts(const FTSENT *entry)
{
    bool of_maildir = is_maildir(entry->fts_parent);
    if (entry->fts_info == FTS_D)
        return of_maildir ? strcmp(entry->fts_name, "tmp") != 0 : entry->fts_name[0] != '.';
    return entry->fts_name[0] != '.' && !of_maildir;
}

/* Returns true for a link as a Maildir's message or folder, or as the directory itself. */
static bool is_missed_link(const FTSENT *entry)
{
    if (entry->fts_level == 0)
        return true;
    return (is_maildir(entry->fts_parent) && leads_to_directory(entry->fts_path)) ||
           (is_maildir(entry->fts_parent->fts_parent) && entry->fts_name[0] != '.');
}

static bool open_and_add(struct replay_files *files, const FTSENT *entry, const char *shown, struct error *error)
{
    int fd OD_CLEANUP(base_close) = replay_open(entry->fts_path, files->as_root, error);
    return fd >= 0 ? add_file(files, entry->fts_path, shown, fd, is_of_maildir(entry), error)
                   : error_prefix(error, "%s", shown);
}

static bool add_entry(struct replay_files *files, FTS *tree, FTSENT *entry, const char *shown, struct error *error)
{
    switch (entry->fts_info) {
    case FTS_D:
        entry->fts_number = has_cur_and_new(entry->fts_path);
        if (entry->fts_level > 0 && !counts(entry))
            fts_set(tree, entry, FTS_SKIP);
        return true;
    case FTS_F:
        return !counts(entry) || open_and_add(files, entry, shown, error);
    case FTS_SL:
        if (!is_missed_link(entry))
            return true;
        return error_set(error,
                         "%s: is a symbolic link, and none is followed in a directory; give what it leads to as a"
                         " separate path, and the Maildir without it",
                         shown);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        return error_set(error, "%s: %s", shown, strerror(entry->fts_errno));
    default: /* no file, or a directory that was read */
        return true;
    }
}

static bool add_directory(struct replay_files *files, char *real, const char *shown, struct error *error)
{
    char *const paths[] = {real, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (tree == NULL)
        return error_set(error, "%s: %m", shown);
    const char *slash = g_str_has_suffix(shown, "/") ? "" : "/";
    bool good = true;
    for (FTSENT *entry; good && (entry = fts_read(tree)) != NULL;) {
        const char *within = entry->fts_path + strlen(real);
        within += strspn(within, "/");
        char *name OD_CLEANUP(base_free) = entry->fts_level == 0 ? base_strdup(shown)
                                                                 : base_printf("%s%s%s", shown, slash, within);
        good = add_entry(files, tree, entry, name, error);
    }
    fts_close(tree);
    return good;
}

bool replay_files_add(struct replay_files *files, const char *path, struct error *error)
{
    guint before = files->items->len;
    struct stat status;
    if (strcmp(path, "-") == 0)
        return add_standard_input(files, error);
    char *real OD_CLEANUP(base_free) = files->as_root ? base_strdup(path) : realpath(path, NULL);
    if (real == NULL)
        return error_set(error, "%s: %m", path);
    int fd OD_CLEANUP(base_close) = replay_open(real, files->as_root, error);
    if (fd < 0)
        return error_prefix(error, "%s", path);
    bool directory = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
    if (!(directory ? add_directory(files, real, path, error) : add_file(files, real, path, fd, false, error)))
        return false;
    return files->items->len > before || error_set(error, "%s: contains no message", path);
}

bool replay_files_next(void *context, char **ret_name, int64_t *ret_number, struct error *error)
{
    (void)error;
    struct replay_files *files = context;
    if (files->next == files->items->len)
        return false;
    const struct replay_item *item = &g_array_index(files->items, struct replay_item, files->next);
    const char *shown = item->file->shown;
    *ret_name = item->number > 0 ? base_printf("%s:%u", shown, item->number) : base_strdup(shown);
    *ret_number = files->next++;
    return true;
}
