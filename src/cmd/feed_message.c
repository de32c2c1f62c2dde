/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <errno.h>
#include <unistd.h>

#include "decode/decode.h"
#include "delivery/sessions.h"
#include "replay/replay.h"

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

static json_t *text_or_null(const char *text)
{
    return text != NULL ? replay_json_text(text) : json_null();
}

static json_t *addresses_json(const struct decoded *decoded)
{
    json_t *list = json_array();
    for (size_t i = 0; i < decoded->address_count; i++) {
        const struct decoded_address *it = &decoded->addresses[i];
        json_array_append_new(list, json_pack("{ss so so so}", "role", it->role, "group", text_or_null(it->group),
                                              "name", text_or_null(it->name), "address", text_or_null(it->address)));
    }
    return list;
}

static json_t *parts_json(const struct decoded *decoded)
{
    json_t *list = json_array();
    for (size_t i = 0; i < decoded->part_count; i++) {
        const struct decoded_part *it = &decoded->parts[i];
        json_array_append_new(list, json_pack("{so so so so sI so}", "path", text_or_null(it->path), "type",
                                              text_or_null(it->type), "disposition", text_or_null(it->disposition),
                                              "filename", text_or_null(it->filename), "size", (json_int_t)it->size,
                                              "text", text_or_null(it->text)));
    }
    return list;
}

bool feed_message_json(struct cmd *cmd, const struct message *message, json_t *object)
{
    struct decoding *decoding OD_CLEANUP(decoding_free) = decoding_start(message, RECORD_TEXT, &cmd->error);
    const struct decoded *decoded = decoding != NULL ? decoding_result(decoding) : NULL;
    if (decoded == NULL)
        return false;
    json_t *references = json_array();
    for (char **id = decoded->references; id != NULL && *id != NULL; id++)
        json_array_append_new(references, replay_json_text(*id));
    json_t *before = json_array_get(references, 0), *own = json_object_get(object, "message_id");
    json_object_set_new(object, "in_reply_to", text_or_null(decoded->in_reply_to));
    json_object_set(object, "thread",
                    before != NULL                 ? before
                    : decoded->in_reply_to != NULL ? json_object_get(object, "in_reply_to")
                                                   : own);
    json_object_set_new(object, "references", references);
    json_object_set_new(object, "addresses", addresses_json(decoded));
    json_object_set_new(object, "parts", parts_json(decoded));
    return decoding_error(decoding) == NULL || error_set(&cmd->error, "%s", decoding_error(decoding));
}
