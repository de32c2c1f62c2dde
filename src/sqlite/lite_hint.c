/* SPDX-License-Identifier: ISC
 *
 * Hints for administrators. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sqlite/lite.h"

#define LOG_VERSION 3007000 /* sqlite.org/walformat.html; the only one */

/* Returns whether this SQLite does not know the log's format. */
static bool log_is_other(const char *path)
{
    unsigned char header[8];
    char *name OD_CLEANUP(base_free) = base_printf("%s-wal", path);
    int fd OD_CLEANUP(base_close) = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd >= 0 && read(fd, header, sizeof(header)) == (ssize_t)sizeof(header) &&
           (header[4] << 24 | header[5] << 16 | header[6] << 8 | header[7]) != LOG_VERSION;
}

static bool has_no_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size == 0;
}

char *lite_hint(const struct config *config, const char *role, const struct error *error)
{
    (void)role;
    const char *path = lite_path(config), *code = error->code;
    bool not_created = strstr(error->text, "no such table") != NULL || strstr(error->text, LITE_NO_LOG) != NULL;
    if (not_created && has_no_bytes(path))
        return base_strdup("the file is empty; if a ledger was in it: " LITE_DAMAGE);
    if (not_created)
        return base_strdup(SQL_INSTALL);
    if (strstr(error->text, "no such column") != NULL || strstr(error->text, "has no column named") != NULL)
        return base_strdup(SQL_UPGRADE);
    if (strcmp(code, "FULL") == 0 || strstr(error->text, strerror(ENOSPC)) != NULL)
        return base_strdup("make room on its disk");
    if (strcmp(code, "CORRUPT") == 0 || strcmp(code, "NOTADB") == 0)
        return base_strdup("the file is damaged: " LITE_DAMAGE);
    if (strstr(error->text, strerror(EROFS)) != NULL)
        return base_strdup("mount it so that it can be written; if the kernel has changed that, see dmesg");
    if (strcmp(code, "IOERR") == 0 || strstr(error->text, strerror(EIO)) != NULL)
        return base_strdup("see what the kernel says of its disk: dmesg");
    if (strcmp(code, "BUSY") == 0)
        return base_strdup("another program has it locked: only oncedrop may write to it");
    bool replaced = strstr(error->text, LITE_REPLACED) != NULL;
    if ((replaced || strcmp(code, "CANTOPEN") == 0) && log_is_other(path))
        return base_printf("%s-wal was written by another version of SQLite, and can only be read by that", path);
    if (replaced)
        return base_strdup(LITE_DAMAGE);
    if (strcmp(code, "READONLY") == 0 || strcmp(code, "CANTOPEN") == 0 || strcmp(code, "PERM") == 0)
        return base_printf("the file, its directory, and the files next to it must be writable and belong to %s",
                           config->service.user[0] != '\0' ? config->service.user : "the user that delivers");
    return NULL;
}
