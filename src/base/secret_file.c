/* SPDX-License-Identifier: ISC */
#include "base/config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checks the descriptor: the path may lead elsewhere by now. */
static bool check_secret_file(const char *path, int fd, struct error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return error_set(error, "%s: not a regular file", path);
    if (status.st_mode & S_IRWXO)
        return error_set(error, "%s: accessible to others (mode %04o); run: chmod o-rwx %s", path,
                         (unsigned)(status.st_mode & 07777), path);
    return true;
}

/* Adds who may read it. */
static void name_readers(const char *path, struct error *error)
{
    struct stat status;
    const struct passwd *user = getpwuid(geteuid());
    char *number OD_CLEANUP(base_free) = base_printf("%u", (unsigned)geteuid());
    error_set(error, "%s for the user %s", error->text, user != NULL ? user->pw_name : number);
    const struct group *group = stat(path, &status) == 0 && (status.st_mode & S_IRGRP) ? getgrgid(status.st_gid) : NULL;
    if (group != NULL)
        error_set(error, "%s; root and the group %s may read it", error->text, group->gr_name);
}

char *secret_file_read(const char *path, size_t limit, size_t *ret_size, struct error *error)
{
    /* O_NONBLOCK: a FIFO must not block before it is refused. */
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got;
    if (fd < 0) {
        bool refused = errno == EACCES;
        error_set(error, "%s: cannot be opened: %m", path);
        if (refused)
            name_readers(path, error);
        return NULL;
    }
    if (!check_secret_file(path, fd, error))
        return NULL;
    char *content OD_CLEANUP(base_free_secret) = base_alloc(limit + 2);
    *ret_size = 0;
    while ((got = TEMP_FAILURE_RETRY(read(fd, content + *ret_size, limit + 1 - *ret_size))) > 0)
        *ret_size += (size_t)got;
    if (got < 0)
        error_set(error, "%s: cannot be read: %m", path);
    else if (*ret_size > limit)
        error_set(error, "%s: longer than %zu bytes", path, limit);
    else
        return g_steal_pointer(&content);
    return NULL;
}

char *secret_file_first_line(const char *where, const char *content, size_t size, struct error *error)
{
    size_t length = strcspn(content, "\n");
    bool complete = length == size || content[length] == '\n';
    while (length > 0 && content[length - 1] == '\r')
        length--;
    if (complete && length > 0)
        return base_strndup(content, length);
    error_set(error, "%s: the first line %s", where, complete ? "is empty" : "contains a NUL byte");
    return NULL;
}

char *secret_file_line(const char *path, struct error *error)
{
    size_t size;
    char *content OD_CLEANUP(base_free_secret) = secret_file_read(path, SECRET_FILE_MAX, &size, error);
    return content != NULL ? secret_file_first_line(path, content, size, error) : NULL;
}

/* Returns false if a credential would replace two files: a server would get another server's password. */
static bool record_credential(const struct config_loading *it, const char *credential, const char *file)
{
    const char *other = g_hash_table_lookup(it->credentials, credential);
    if (other != NULL && strcmp(other, file) != 0)
        return error_set(
            it->error, "%s and %s have the same name, so systemd's credential %s cannot be a copy of both; rename one",
            other, file, credential);
    g_hash_table_insert(it->credentials, g_strdup(credential), g_strdup(file));
    return true;
}

/* Prefers systemd's copy (LoadCredential=) of password_file, which may be unreadable. A named server may have
 * inherited the copy. */
static bool prefer_credential(const struct config_loading *it)
{
    char **file = &it->config->imap.password_file;
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    if (directory == NULL || *directory != '/' || **file == '\0' || *it->config->imap.command != '\0')
        return true;
    g_autofree char *name = g_path_get_basename(*file);
    char *path OD_CLEANUP(base_free) = base_printf("%s/%s", directory, name);
    if (strcmp(path, *file) == 0 || access(path, F_OK) != 0)
        return true;
    if (!record_credential(it, path, *file))
        return false;
    base_free(file);
    *file = g_steal_pointer(&path);
    return true;
}

bool config_renew_password(const struct config *config, struct error *error)
{
    const char *file = config->imap.password_file;
    if (*config->imap.command || !*file)
        return true;
    struct stat status; /* from before: a file written meanwhile is read again */
    int64_t written_ns = stat(file, &status) == 0 ? (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec
                                                  : 0;
    char *line = secret_file_line(file, error);
    if (line == NULL)
        return false;
    base_free_secret(&config->imap.password->text);
    config->imap.password->text = line;
    config->imap.password->written_ns = written_ns;
    return true;
}

bool config_secret_read(const struct config_loading *it)
{
    const struct setting *setting = config_table_find("imap", "password_file");
    if (prefer_credential(it) && config_renew_password(it->config, it->error))
        return true;
    return error_prefix(it->error, "%s: [%s] %s", it->set_by[setting - config_table], setting->group, setting->name);
}
