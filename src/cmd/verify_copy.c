/* SPDX-License-Identifier: ISC
 *
 * Does not say whether a missing copy was lost or deleted; `restore` does (delivery/verify.c).
 *
 * Without a message's bytes, a copy that the server changed cannot be recognised. If a message of the same id has other
 * content, the result is unknown. */
#include "cmd/cmd.h"

#include <string.h>

#include "delivery/presence.h"

enum { RESULTS = SEARCH_PRESENT + 1 };

struct verifier {
    struct cmd *cmd;
    struct message message; /* its digest, its size and, unless servers change it, its id */
    unsigned char (*variants)[MESSAGE_DIGEST_SIZE];
    size_t variant_count;
    int64_t received_at;
    struct sql_rows *table; /* gets the results; or NULL */
    size_t *counts;         /* by result; or NULL */
};

static void clear_verifier(struct verifier *verifier)
{
    base_free(&verifier->variants);
    base_free(&verifier->message.message_id);
}

/* Of several servers, it is that of the address with the account's name, since none is recorded. */
const struct config *verify_server(struct cmd *cmd, const char *account, struct error *error)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    if (config_server_count(cmd->config) == 0)
        return cmd->config;
    enum route_result result = cmd_find_route(cmd, account, &route);
    if (result == ROUTE_OK && strcmp(route.account, account) == 0)
        return route.server;
    if (result == ROUTE_ERROR)
        *error = cmd->error;
    else
        error_set(error, "it is not known on which IMAP server: no address of that name leads to account %s", account);
    return NULL;
}

/* Sets *why to the reason, or to "". */
static enum search_result verify_copy(const struct verifier *verifier, const struct sql_rows *copies, size_t row,
                                      uint32_t *ret_uid, struct error *why)
{
    const char *recorded = sql_text(copies, row, SHOW_COPIES_ERROR);
    bool sent = strcmp(sql_text(copies, row, SHOW_COPIES_ROLE), "sent") == 0;
    struct presence_place place = {.uid = 0};
    const struct presence_query query = {
        .sessions = verifier->cmd->sessions,
        .server = verify_server(verifier->cmd, sql_text(copies, row, SHOW_COPIES_ACCOUNT), why),
        .account = sql_text(copies, row, SHOW_COPIES_ACCOUNT),
        .mailbox = sql_text(copies, row, SHOW_COPIES_MAILBOX),
        .message = &verifier->message,
        .variants = verifier->variants,
        .variant_count = verifier->variant_count,
        .received_at = verifier->received_at,
        .by_id = sent,
        .newest = sent ? PRESENCE_NEWEST : 0,
        .doubt = true,
        .notice = true,
    };
    if (query.server == NULL)
        return SEARCH_UNKNOWN;
    sessions_begin(query.sessions);
    enum search_result result = presence_search(&query, &place, why);
    *ret_uid = place.uid;
    if (result == SEARCH_MISSING && recorded[0] != '\0') {
        error_set(why, "it is not there, but may be elsewhere: %s", recorded);
        return SEARCH_UNKNOWN;
    }
    if (result != SEARCH_UNKNOWN)
        error_set(why, "%s", result == SEARCH_PRESENT && place.notice ? "attached to an explanation" : "");
    return result;
}

static void add_result(struct verifier *verifier, const struct sql_rows *copies, size_t row)
{
    static const char *const words[] = {
        [SEARCH_PRESENT] = "present",
        [SEARCH_MISSING] = "missing",
        [SEARCH_DELETED] = "deleted",
        [SEARCH_UNKNOWN] = "unknown",
    };
    struct error why = {.text = ""};
    uint32_t uid = 0;
    enum search_result result = verify_copy(verifier, copies, row, &uid, &why);
    if (verifier->counts != NULL)
        verifier->counts[result]++;
    if (verifier->table == NULL)
        return;
    char *number OD_CLEANUP(base_free) = base_printf("%u", uid);
    sql_rows_add_text(verifier->table, sql_text(copies, row, SHOW_COPIES_ACCOUNT));
    sql_rows_add_text(verifier->table, sql_text(copies, row, SHOW_COPIES_MAILBOX));
    sql_rows_add_text(verifier->table, words[result]);
    sql_rows_add_text(verifier->table, result == SEARCH_PRESENT ? number : NULL);
    sql_rows_add_text(verifier->table, why.text[0] != '\0' ? why.text : NULL);
}

static void take_message(struct verifier *verifier, const struct sql_rows *messages, size_t row)
{
    const char *id = sql_text(messages, row, FIND_MESSAGES_MESSAGE_ID);
    g_autoptr(GDateTime) at = g_date_time_new_from_iso8601(sql_text(messages, row, FIND_MESSAGES_RECEIVED_AT), NULL);
    verifier->received_at = at != NULL ? g_date_time_to_unix(at) : 0;
    verifier->message.size = g_ascii_strtoull(sql_text(messages, row, FIND_MESSAGES_SIZE), NULL, 10);
    verifier->variants = base_alloc(messages->count * sizeof(*verifier->variants));
    verifier->variant_count = messages->count;
    for (size_t i = 0; i < messages->count; i++)
        (void)!base_unhex(sql_text(messages, i, FIND_MESSAGES_DIGEST), verifier->variants[i], MESSAGE_DIGEST_SIZE);
    memcpy(verifier->message.digest, verifier->variants[row], MESSAGE_DIGEST_SIZE);
    if (!mailbox_searchable(id, strlen(id), false)) /* it may be recorded differently */
        return;
    verifier->message.message_id = base_strdup(id);
    verifier->message.message_id_length = strlen(id);
}

bool verify_begin(struct cmd *cmd)
{
    if (cmd->sessions != NULL)
        return true;
    if (!mailbox_load(cmd->config, &cmd->error) ||
        !privilege_must_become(cmd->config->service.user, false, &cmd->error))
        return false;
    cmd->sessions = sessions_new(cmd->config, 1);
    return true;
}

/* account, mailbox: only copies stored there; NULL: all. */
static bool verify_copies_of(struct verifier *verifier, const struct sql_rows *messages, size_t row,
                             const char *account, const char *mailbox)
{
    struct cmd *cmd = verifier->cmd;
    struct sql_rows *copies OD_CLEANUP(sql_rows_free) =
        ledger_show(cmd->ledger, "copies", sql_text(messages, row, FIND_MESSAGES_ID), &cmd->error);
    if (copies == NULL || !verify_begin(cmd))
        return false;
    sessions_keep_failures(cmd->sessions);
    take_message(verifier, messages, row);
    for (size_t i = 0; i < copies->count; i++)
        if (account == NULL || (strcmp(sql_text(copies, i, SHOW_COPIES_ACCOUNT), account) == 0 &&
                                strcmp(sql_text(copies, i, SHOW_COPIES_MAILBOX), mailbox) == 0 &&
                                strcmp(sql_text(copies, i, SHOW_COPIES_STATE), "stored") == 0))
            add_result(verifier, copies, i);
    return true;
}

struct sql_rows *verify_message(struct cmd *cmd, const struct sql_rows *messages, size_t row)
{
    static const char *const names[] = {"account", "mailbox", "copy", "uid", "reason"};
    struct verifier verifier OD_CLEANUP(clear_verifier) = {.cmd = cmd};
    struct sql_rows *table = ledger_table_new(names, G_N_ELEMENTS(names));
    table->types[3] = SQL_TYPE_NUMBER;
    verifier.table = table;
    if (!verify_copies_of(&verifier, messages, row, NULL, NULL))
        sql_rows_free(&table);
    return table;
}

/* Messages with other content may share the Message-ID. Adds to counts. */
static bool verify_row(struct cmd *cmd, const struct sql_rows *table, size_t row, size_t counts[RESULTS])
{
    const char *id = sql_text(table, row, LIST_MESSAGE_ID);
    unsigned char identity[MESSAGE_DIGEST_SIZE];
    message_identity(cmd->config->lock.namespace, id, strlen(id), identity);
    struct sql_rows *messages OD_CLEANUP(sql_rows_free) =
        ledger_find_messages(cmd->ledger, identity, NULL, NULL, &cmd->error);
    bool verified = messages != NULL;
    for (size_t i = 0; verified && i < messages->count; i++) {
        struct verifier verifier OD_CLEANUP(clear_verifier) = {.cmd = cmd};
        verifier.counts = counts;
        verified = verify_copies_of(&verifier, messages, i, sql_text(table, row, LIST_ACCOUNT),
                                    sql_text(table, row, LIST_MAILBOX));
    }
    return verified;
}

bool verify_list(struct cmd *cmd, struct sql_rows *table, size_t *ret_unknown)
{
    *ret_unknown = 0;
    for (size_t row = 0; row < table->count;) {
        size_t counts[RESULTS] = {0};
        if (!verify_row(cmd, table, row, counts))
            return false;
        bool any = counts[SEARCH_PRESENT] + counts[SEARCH_MISSING] > 0; /* none: perhaps purged */
        *ret_unknown += counts[SEARCH_UNKNOWN] > 0 || !any;
        if (counts[SEARCH_MISSING] > 0)
            row++;
        else
            sql_rows_remove(table, row);
    }
    return true;
}
