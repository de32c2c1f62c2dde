/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <errno.h>
#include <unistd.h>

#include "delivery/sessions.h"

struct message_file {
    int fd;
    int errnum; /* of the first write that failed; 0: none */
};

static bool write_recorded(void *context, const void *bytes, size_t size, struct error *error)
{
    struct message_file *file = context;
    return base_write(file->fd, bytes, size) || tempfile_error(error, "write the", errno);
}

static void write_fetched(void *context, const void *bytes, size_t size)
{
    struct message_file *file = context;
    bool written = bytes != NULL ? base_write(file->fd, bytes, size)
                                 : ftruncate(file->fd, 0) == 0 && lseek(file->fd, 0, SEEK_SET) == 0;
    if (!written && file->errnum == 0)
        file->errnum = errno;
}

static enum search_result fetch_by(struct cmd *cmd, const struct sql_rows *rows, const struct config *server,
                                   enum sessions_age age, struct message_file *file, bool *ret_reused)
{
    const char *account = sql_text(rows, 0, READ_ROW_ACCOUNT);
    struct mailbox *mailbox = sessions_acquire(cmd->sessions, server, account, age, 0, ret_reused, &cmd->error);
    if (mailbox == NULL)
        return SEARCH_UNKNOWN;
    enum search_result result =
        mailbox_fetch(mailbox, sql_text(rows, 0, READ_ROW_MAILBOX), (uint32_t)sql_number(rows, 0, READ_ROW_UIDVALIDITY),
                      (uint32_t)sql_number(rows, 0, READ_ROW_UID), write_fetched, file, &cmd->error);
    sessions_release(cmd->sessions, server, account);
    return result;
}

/* Reads it from the mailbox by its UID; once more on a new session if the server has closed one that was kept. */
static bool fetch_message(struct cmd *cmd, const struct sql_rows *rows, struct message_file *file, bool *ret_gone)
{
    const char *account = sql_text(rows, 0, READ_ROW_ACCOUNT);
    bool reused = false;
    *ret_gone = sql_number(rows, 0, READ_ROW_UID) == 0;
    if (*ret_gone)
        return error_set(&cmd->error,
                         "its UID is not recorded, for the server lacks UIDPLUS or stored it elsewhere, and"
                         " neither are its bytes; set record.level = raw");
    const struct config *server = verify_server(cmd, account, &cmd->error);
    if (server == NULL)
        return false;
    sessions_begin(cmd->sessions);
    enum search_result result = fetch_by(cmd, rows, server, SESSIONS_REUSED, file, &reused);
    if (result == SEARCH_UNKNOWN && reused)
        result = fetch_by(cmd, rows, server, SESSIONS_NEW, file, &reused);
    *ret_gone = result == SEARCH_MISSING;
    if (*ret_gone)
        return error_set(&cmd->error, "it is not in mailbox %s of %s any more, and its bytes are not recorded",
                         sql_text(rows, 0, READ_ROW_MAILBOX), account);
    return result == SEARCH_PRESENT && (file->errnum == 0 || tempfile_error(&cmd->error, "write the", file->errnum));
}

int feed_message_open(struct cmd *cmd, const struct sql_rows *rows, bool *ret_gone)
{
    int64_t message = sql_number(rows, 0, READ_ROW_MESSAGE);
    bool recorded;
    int fd OD_CLEANUP(base_close) = tempfile_open();
    struct message_file file = {.fd = fd};
    *ret_gone = false;
    if (fd < 0) {
        (void)tempfile_error(&cmd->error, "make a", errno);
        return -1;
    }
    if (!ledger_address_has_raw(cmd->ledger, message, &recorded, &cmd->error) ||
        !(recorded ? ledger_raw(cmd->ledger, message, write_recorded, &file, &cmd->error)
                   : fetch_message(cmd, rows, &file, ret_gone)) ||
        lseek(fd, 0, SEEK_SET) != 0)
        return -1;
    int open = fd;
    fd = -1;
    return open;
}
