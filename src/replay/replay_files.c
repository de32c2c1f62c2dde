/* SPDX-License-Identifier: ISC
 *
 * What to replay: turns paths of the command line into a list of messages. */
#include "replay/replay_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/replay_mbox.h"
#include "replay/replay_open.h"

/* Where something stands. */
struct place {
    int fd;       /* of a directory; or of the contents of standard input in an unlinked file */
    char *within; /* the path from there, for replay_open; "": fd is the file */
    char *shown;  /* the name for people */
};

/* A file. The workers read its messages: they inherit its place's descriptor. */
struct file {
    struct place place;
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
    GArray *descriptors; /* of places */
    bool as_root;
    guint next;
};

static void place_clear(struct place *place)
{
    base_free(&place->within);
    base_free(&place->shown);
}

struct replay_files *replay_files_new(void)
{
    struct replay_files *files = base_alloc(sizeof(*files));
    files->files = g_array_new(FALSE, TRUE, sizeof(struct file));
    files->items = g_array_new(FALSE, TRUE, sizeof(struct item));
    files->descriptors = g_array_new(FALSE, TRUE, sizeof(int));
    files->as_root = geteuid() == 0;
    replay_open_many();
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
    for (guint i = 0; i < (*files)->files->len; i++)
        place_clear(&g_array_index((*files)->files, struct file, i).place);
    for (guint i = 0; i < (*files)->descriptors->len; i++)
        base_close(&g_array_index((*files)->descriptors, int, i));
    g_array_unref((*files)->descriptors);
    g_array_unref((*files)->files);
    g_array_unref((*files)->items);
    base_free(files);
}

static bool is_called_a_message(const char *path)
{
    return g_str_has_suffix(path, ".eml") || g_str_has_suffix(path, ".msg");
}

/* Adds the messages of an open file. */
static bool add_file(struct replay_files *files, const struct place *place, int fd, struct fault *fault)
{
    struct file file = {.quoting = MBOX_PLAIN};
    GArray *messages = NULL;
    if (!is_called_a_message(place->shown) && !mbox_scan(fd, &messages, &file.quoting, fault)) {
        fault_prefix(fault, "%s", place->shown);
        return false;
    }
    if (messages == NULL)
        file.quoting = MBOX_PLAIN;
    file.place = (struct place){place->fd, base_strdup(place->within), base_strdup(place->shown)};
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

static bool add_standard_input(struct replay_files *files, struct fault *fault)
{
    char within[] = "", shown[] = "-";
    struct place place = {replay_open_input(fault), within, shown};
    if (place.fd < 0)
        return false;
    g_array_append_val(files->descriptors, place.fd);
    if (lseek(place.fd, 0, SEEK_END) == 0) {
        fault_set(fault, "standard input is empty");
        return false;
    }
    return add_file(files, &place, place.fd, fault);
}

static bool has_directory(int directory, const char *name)
{
    struct stat status;
    return fstatat(directory, name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

static bool is_maildir(int directory)
{
    return has_directory(directory, "cur") && has_directory(directory, "new");
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A directory that is read, and whether it or the one above it is a Maildir. */
struct directory {
    const struct place *place;
    int fd;
    bool maildir, in_maildir;
};

/* The names in a directory; NULL with errno set. */
static GPtrArray *read_names(int directory)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    errno = stream != NULL ? 0 : errno;
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            g_ptr_array_add(names, g_strdup(entry->d_name));
    int error = errno;
    if (stream != NULL)
        closedir(stream);
    else
        base_close(&fd);
    g_ptr_array_sort(names, by_name);
    if (error != 0)
        g_clear_pointer(&names, g_ptr_array_unref);
    errno = error;
    return names;
}

/* Whether something in a directory is read. A Maildir's tmp is not delivered yet; names of its folders begin with dots;
 * apart from those in cur and new, the files in a Maildir are the server's own. */
static bool counts(const struct directory *directory, const char *name, mode_t mode)
{
    if (S_ISDIR(mode))
        return directory->maildir ? strcmp(name, "tmp") != 0 : name[0] != '.';
    return S_ISREG(mode) && name[0] != '.' && !directory->maildir;
}

/* Whether a symbolic link stands where a Maildir has messages, or is one of its folders: these would be left out. */
static bool is_missed_link(const struct directory *directory, const char *name, mode_t mode)
{
    return S_ISLNK(mode) &&
           ((directory->maildir && has_directory(directory->fd, name)) || (directory->in_maildir && name[0] != '.'));
}

static bool add_opened(struct replay_files *files, const struct place *place, int fd, bool in_maildir,
                       struct fault *fault);

// NOLINTNEXTLINE(misc-no-recursion): add_entry ends it at PATH_MAX
static bool add_entry(struct replay_files *files, const struct directory *directory, const char *name,
                      const struct place *place, struct fault *fault)
{
    struct stat status;
    if (strlen(place->within) >= PATH_MAX || fstatat(directory->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        fault_set(fault, "%s: %m", place->shown);
        return false;
    }
    if (is_missed_link(directory, name, status.st_mode)) {
        fault_set(fault,
                  "%s: is a symbolic link, and none is followed in a directory; give what it leads to as a path of its"
                  " own, and the Maildir without it",
                  place->shown);
        return false;
    }
    if (!counts(directory, name, status.st_mode))
        return true;
    int fd OD_CLEANUP(base_close) = replay_open(directory->fd, name, files->as_root, fault);
    if (fd < 0) {
        fault_prefix(fault, "%s", place->shown);
        return false;
    }
    return add_opened(files, place, fd, directory->maildir, fault);
}

// NOLINTNEXTLINE(misc-no-recursion): add_entry ends it at PATH_MAX
static bool add_directory(struct replay_files *files, const struct directory *directory, struct fault *fault)
{
    const struct place *place = directory->place;
    GPtrArray *names = read_names(directory->fd);
    if (names == NULL) {
        fault_set(fault, "%s: %m", place->shown);
        return false;
    }
    bool good = true;
    for (guint i = 0; good && i < names->len; i++) {
        const char *name = names->pdata[i];
        struct place entry = {place->fd, base_printf("%s/%s", place->within, name),
                              base_printf(g_str_has_suffix(place->shown, "/") ? "%s%s" : "%s/%s", place->shown, name)};
        good = add_entry(files, directory, name, &entry, fault);
        place_clear(&entry);
    }
    g_ptr_array_unref(names);
    return good;
}

/* in_maildir: the directory that it stands in is a Maildir. */
// NOLINTNEXTLINE(misc-no-recursion): add_entry ends it at PATH_MAX
static bool add_opened(struct replay_files *files, const struct place *place, int fd, bool in_maildir,
                       struct fault *fault)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        const struct directory directory = {place, fd, is_maildir(fd), in_maildir};
        return add_directory(files, &directory, fault);
    }
    return add_file(files, place, fd, fault);
}

/* The descriptor of a directory, kept; the last one if that is the same. Takes fd over. Low numbers are left to IMAP
 * sessions: libetpan waits with select(2). */
static int keep_descriptor(struct replay_files *files, int fd)
{
    struct stat status, kept;
    GArray *all = files->descriptors;
    int last = all->len > 0 ? g_array_index(all, int, all->len - 1) : -1;
    if (last >= 0 && fstat(last, &kept) == 0 && fstat(fd, &status) == 0 && kept.st_dev == status.st_dev &&
        kept.st_ino == status.st_ino) {
        base_close(&fd);
        return last;
    }
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);
    if (high >= 0) {
        base_close(&fd);
        fd = high;
    }
    g_array_append_val(all, fd);
    return fd;
}

bool replay_files_add(struct replay_files *files, const char *path, struct fault *fault)
{
    guint before = files->items->len;
    if (strcmp(path, "-") == 0)
        return add_standard_input(files, fault);
    struct place place = {.fd = -1, .shown = base_strdup(path)};
    int fd OD_CLEANUP(base_close) = -1;
    int parent = replay_open_parent(path, files->as_root, &place.within, fault);
    if (parent >= 0) {
        place.fd = keep_descriptor(files, parent);
        fd = replay_open(place.fd, place.within, files->as_root, fault);
    }
    bool good = fd >= 0;
    if (!good)
        fault_prefix(fault, "%s", path);
    good = good && add_opened(files, &place, fd, false, fault);
    if (good && files->items->len == before)
        fault_set(fault, "%s: contains no message", path);
    place_clear(&place);
    return good && files->items->len > before;
}

bool replay_files_next(void *context, char **ret_name, GVariant **ret_task)
{
    struct replay_files *files = context;
    if (files->next == files->items->len)
        return false;
    const struct item *item = &g_array_index(files->items, struct item, files->next++);
    const struct file *file = &g_array_index(files->files, struct file, item->file);
    *ret_name = item->number > 0 ? base_printf("%s:%u", file->place.shown, item->number)
                                 : base_strdup(file->place.shown);
    *ret_task = g_variant_new("(^ayibxxxu)", file->place.within, file->place.fd, files->as_root, item->at.offset,
                              item->at.size, item->at.from_time, item->number > 0 ? file->quoting + 1U : 0U);
    return true;
}
