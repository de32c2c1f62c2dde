/* SPDX-License-Identifier: ISC
 *
 * Messages with other content may share a Message-ID. */
#include "cmd/list_missing.h"

#include <string.h>

#include "cmd/verify_copy.h"
#include "ledger/ledger_report.h"
#include "message/message.h"

struct found {
    size_t copies, absent, unknown;
};

static void count_copies(struct found *found, const struct sql_rows *looked)
{
    for (size_t row = 0; row < looked->count; row++) {
        const char *copy = sql_text(looked, row, VERIFY_COPY);
        found->copies++;
        found->absent += strcmp(copy, VERIFY_MISSING) == 0;
        found->unknown += strcmp(copy, VERIFY_UNKNOWN) == 0;
    }
}

static bool verify_row(struct cmd *cmd, const struct sql_rows *table, size_t row, struct found *ret)
{
    const char *id = sql_text(table, row, LIST_MESSAGE_ID);
    unsigned char identity[MESSAGE_DIGEST_SIZE];
    message_identity(cmd->config->lock.namespace, id, strlen(id), identity);
    struct sql_rows *messages OD_CLEANUP(sql_rows_free) =
        ledger_find_messages(cmd->ledger, identity, NULL, NULL, &cmd->error);
    *ret = (struct found){.copies = 0};
    for (size_t i = 0; messages != NULL && i < messages->count; i++) {
        struct sql_rows *looked OD_CLEANUP(sql_rows_free) =
            verify_copy(cmd, messages, i, sql_text(table, row, LIST_ACCOUNT), sql_text(table, row, LIST_MAILBOX));
        if (looked == NULL)
            return false;
        count_copies(ret, looked);
    }
    return messages != NULL;
}

bool list_missing(struct cmd *cmd, struct sql_rows *table, size_t *ret_unknown)
{
    struct found found;
    size_t unknown = 0;
    for (size_t row = 0; row < table->count;) {
        if (!verify_row(cmd, table, row, &found))
            return false;
        unknown += found.copies == 0 || found.unknown > 0; /* 0 copies: perhaps purged */
        if (found.absent > 0)
            row++;
        else
            sql_rows_remove(table, row);
    }
    *ret_unknown = unknown;
    return true;
}
