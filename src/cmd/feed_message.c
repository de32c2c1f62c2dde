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

static bool fetch_message(struct cmd *cmd, const struct sql_rows *rows, struct message_file *file, bool *ret_gone)
{
    const char *account = sql_text(rows, 0, READ_ROW_ACCOUNT), *name = sql_text(rows, 0, READ_ROW_MAILBOX);
    uint32_t validity = (uint32_t)sql_number(rows, 0, READ_ROW_UIDVALIDITY),
             uid = (uint32_t)sql_number(rows, 0, READ_ROW_UID);
    bool reused;
    *ret_gone = uid == 0;
    if (uid == 0)
        return error_set(&cmd->error,
                         "its UID is not recorded, for the server lacks UIDPLUS or stored it elsewhere, and"
                         " neither are its bytes; set record.level = raw");
    const struct config *server = verify_server(cmd, account, &cmd->error);
    struct mailbox *mailbox =
        server != NULL ? sessions_acquire(cmd->sessions, server, account, SESSIONS_REUSED, 0, &reused, &cmd->error)
                       : NULL;
    if (mailbox == NULL)
        return false;
    enum search_result result = mailbox_fetch(mailbox, name, validity, uid, write_fetched, file, &cmd->error);
    sessions_release(cmd->sessions, server, account);
    *ret_gone = result == SEARCH_MISSING;
    if (*ret_gone)
        return error_set(&cmd->error, "it is not in mailbox %s of %s any more (uid %u), and its bytes are not recorded",
                         name, account, uid);
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
