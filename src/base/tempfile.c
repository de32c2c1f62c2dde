/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *tempfile_directory(void)
{
    const char *directory = getenv("TMPDIR");
    return directory != NULL && *directory ? directory : "/tmp";
}

int tempfile_memory(void)
{
    signal(SIGXFSZ, SIG_IGN); /* it would kill without a message */
    return memfd_create("message", MFD_CLOEXEC);
}

int tempfile_open(void)
{
    const char *directory = tempfile_directory();
    signal(SIGXFSZ, SIG_IGN);
    int fd = open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        /* not every file system has O_TMPFILE */
        char *name OD_CLEANUP(base_free) = base_printf("%s/oncedrop.XXXXXX", directory);
        fd = mkostemp(name, O_CLOEXEC);
        if (fd >= 0 && unlink(name) < 0)
            base_close(&fd);
    }
    return fd;
}

bool tempfile_error(struct error *error, const char *what, int errnum)
{
    const char *hint = "";
    if (errnum == EFBIG)
        hint = "; a file size limit is set (for Postfix's local(8) it is mailbox_size_limit)";
    else if (errnum == ENOSPC || errnum == EDQUOT)
        hint = "; make room there or set TMPDIR to another directory";
    else if (errnum == ENOENT || errnum == EACCES || errnum == EROFS || errnum == ENOTDIR)
        hint = "; set TMPDIR to a directory that can be written to";
    return error_set(error, "cannot %s temporary file for the message in %s: %s%s", what, tempfile_directory(),
                     strerror(errnum), hint);
}
