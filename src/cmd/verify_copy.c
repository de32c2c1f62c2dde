/* SPDX-License-Identifier: ISC
 *
 * Without a message's bytes, a copy that the server changed cannot be recognised. If a message of the same id has other
 * content, the result is unknown. */
#include "cmd/verify_copy.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/privilege.h"
#include "cmd/verify_session.h"
#include "decode/notice.h"
#include "ledger/ledger_report.h"
#include "message/message_comparison.h"
#include "message/message_digest.h"

#define NEWEST 500                  /* in Sent, as in a delivery */
#define TRANSPORT_MAX (1024 * 1024) /* what transport may add, as in a delivery */

struct place {
    const char *mailbox;
    const char *error; /* recorded; "": none */
    uint32_t uid;      /* set if found */
};

struct verifier {
    struct cmd *cmd;
    const struct config *config;
    const struct sql_rows *messages;
    struct message message; /* its digest and, unless servers change it, its id */
    int64_t received_at, size;
    struct message_digest *digest; /* of the candidate */
    bool met;                      /* a candidate has the content of no message shown */
    struct place place;
    bool by_id; /* a Sent copy: its id decides, since mail programs may have stored it */
};

static const char *const *fields_left_out(const struct verifier *verifier)
{
    return (const char *const *)verifier->config->identity.ignore_headers;
}

static void feed_content(void *context, const void *bytes, size_t size)
{
    struct verifier *verifier = context;
    message_digest_feed(verifier->digest, bytes, size);
}

/* Returns true for the content of a message shown. */
static bool is_shown(const struct verifier *verifier, const unsigned char digest[MESSAGE_DIGEST_SIZE])
{
    char hex[2 * MESSAGE_DIGEST_SIZE + 1];
    base_hex(digest, MESSAGE_DIGEST_SIZE, hex);
    for (size_t row = 0; row < verifier->messages->count; row++)
        if (strcmp(sql_text(verifier->messages, row, FIND_MESSAGES_DIGEST), hex) == 0)
            return true;
    return false;
}

static enum candidate classify_content(void *context)
{
    struct verifier *verifier = context;
    unsigned char digest[MESSAGE_DIGEST_SIZE];
    (void)message_digest_end(verifier->digest, digest);
    message_digest_free(&verifier->digest);
    verifier->digest = message_digest_new(fields_left_out(verifier));
    if (memcmp(digest, verifier->message.digest, sizeof(digest)) == 0)
        return CANDIDATE_SAME;
    verifier->met = verifier->met || !is_shown(verifier, digest);
    return CANDIDATE_OTHER;
}

static void search_id(void *context, const void *bytes, size_t size)
{
    message_comparison_feed(context, bytes, size);
}

static enum candidate search_by_id(void *context)
{
    switch (message_comparison_end(context)) {
    case MESSAGE_SAME:
        return CANDIDATE_SAME;
    case MESSAGE_SIMILAR:
        return CANDIDATE_SIMILAR;
    case MESSAGE_OTHER:
        break;
    }
    return CANDIDATE_OTHER;
}

static enum search_result search_for(struct verifier *verifier, struct mailbox *mailbox, const char *name,
                                     const struct message *message, bool by_id, uint32_t *ret_uid, struct error *error)
{
    uint32_t uidvalidity;
    bool has_id = message->message_id != NULL;
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = has_id ? message_comparison_new_id(message)
                                                                                : NULL;
    const struct search_reader reader = {.feed = has_id ? search_id : NULL, .end = search_by_id, .context = ids};
    verifier->digest = message_digest_new(fields_left_out(verifier));
    const struct search search = {
        .mailbox = name,
        .message_id = message->message_id,
        .internal_date = verifier->received_at,
        .smallest = 1,
        .largest = has_id ? 0 : verifier->size + TRANSPORT_MAX,
        .newest = by_id ? NEWEST : 0,
        .by_id = by_id,
        .doubt = true,
        .complete = by_id ? reader
                          : (struct search_reader){.feed = feed_content, .end = classify_content, .context = verifier},
        .ids = reader,
    };
    enum search_result result = mailbox_search(mailbox, &search, &uidvalidity, ret_uid, error);
    message_digest_free(&verifier->digest);
    return result;
}

/* Verifies a copy. The error, which may be empty, is the reason. */
static enum search_result search_in(void *context, struct mailbox *mailbox, struct error *error)
{
    struct verifier *verifier = context;
    struct place *place = &verifier->place;
    verifier->met = false;
    bool by_id = verifier->by_id && verifier->message.message_id != NULL;
    enum search_result result =
        search_for(verifier, mailbox, place->mailbox, &verifier->message, by_id, &place->uid, error);
    if (result != SEARCH_ABSENT)
        return result;
    char *id OD_CLEANUP(base_free) = notice_id(verifier->config->lock.namespace, &verifier->message);
    const struct message explanation = {.message_id = id, .message_id_length = strlen(id)};
    result = search_for(verifier, mailbox, place->mailbox, &explanation, true, &place->uid, error);
    if (result == SEARCH_FOUND)
        (void)error_set(error, "attached to an explanation");
    if (result != SEARCH_ABSENT || (!verifier->met && place->error[0] == '\0'))
        return result;
    if (verifier->met)
        (void)error_set(error, "a message %s has other content: it is another one, or the server has changed this one",
                        verifier->message.message_id != NULL ? "with its Message-ID" : "of those days");
    else
        (void)error_set(error, "it is not there, but may be elsewhere: %s", place->error);
    return SEARCH_ERROR;
}

/* Returns the configuration with the account's server. Of several, it is that of the address with the account's name,
 * since none is recorded. Returns NULL with the error set if unknown. */
static const struct config *verify_server(struct cmd *cmd, const char *account, struct error *error)
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

static void add_result(struct verifier *verifier, const struct sql_rows *copies, size_t row, struct sql_rows *table)
{
    static const char *const words[] = {
        [SEARCH_FOUND] = VERIFY_PRESENT, [SEARCH_ABSENT] = VERIFY_MISSING, [SEARCH_ERROR] = VERIFY_UNKNOWN};
    struct error error = {.text = ""};
    const char *account = sql_text(copies, row, SHOW_COPIES_ACCOUNT);
    enum search_result result = SEARCH_ERROR;
    verifier->place = (struct place){.mailbox = sql_text(copies, row, SHOW_COPIES_MAILBOX),
                                     .error = sql_text(copies, row, SHOW_COPIES_ERROR)};
    verifier->by_id = strcmp(sql_text(copies, row, SHOW_COPIES_ROLE), "sent") == 0;
    const struct config *server = verify_server(verifier->cmd, account, &error);
    if (server != NULL)
        result = verify_session_run(verifier->cmd, server, account, search_in, verifier, &error);
    char *number OD_CLEANUP(base_free) = base_printf("%u", verifier->place.uid);
    sql_rows_add_text(table, account);
    sql_rows_add_text(table, verifier->place.mailbox);
    sql_rows_add_text(table, words[result]);
    sql_rows_add_text(table, result == SEARCH_FOUND ? number : NULL);
    sql_rows_add_text(table, error.text[0] != '\0' ? error.text : NULL);
}

static void take_message(struct verifier *verifier, size_t row, char **id)
{
    const char *digest = sql_text(verifier->messages, row, FIND_MESSAGES_DIGEST);
    g_autoptr(GDateTime)
        at = g_date_time_new_from_iso8601(sql_text(verifier->messages, row, FIND_MESSAGES_RECEIVED_AT), NULL);
    verifier->received_at = at != NULL ? g_date_time_to_unix(at) : 0;
    verifier->size = g_ascii_strtoll(sql_text(verifier->messages, row, FIND_MESSAGES_SIZE), NULL, 10);
    for (size_t i = 0; i < MESSAGE_DIGEST_SIZE && digest[2 * i] != '\0'; i++)
        verifier->message.digest[i] =
            (unsigned char)(g_ascii_xdigit_value(digest[2 * i]) << 4 | g_ascii_xdigit_value(digest[2 * i + 1]));
    *id = base_strdup(sql_text(verifier->messages, row, FIND_MESSAGES_MESSAGE_ID));
    if (mailbox_searchable(*id, strlen(*id), false)) /* else it may be recorded differently */
        verifier->message.message_id = *id;
    verifier->message.message_id_length = strlen(*id);
}

/* account, mailbox: NULL: all. */
static struct sql_rows *search_copies(struct cmd *cmd, const struct sql_rows *messages, size_t row, const char *account,
                                      const char *mailbox)
{
    struct verifier verifier = {.cmd = cmd, .config = cmd->config, .messages = messages};
    char *id OD_CLEANUP(base_free) = NULL;
    struct sql_rows *copies OD_CLEANUP(sql_rows_free) =
        ledger_show(cmd->ledger, "copies", sql_text(messages, row, FIND_MESSAGES_ID), &cmd->error);
    if (copies == NULL || !mailbox_load(cmd->config, &cmd->error) ||
        !privilege_become(cmd->config->service.user, false, &cmd->error))
        return NULL;
    take_message(&verifier, row, &id);
    static const char *const names[] = {"account", "mailbox", "copy", "uid", "reason"};
    struct sql_rows *table = ledger_table_new(names, G_N_ELEMENTS(names));
    table->types[3] = SQL_TYPE_NUMBER;
    for (size_t i = 0; i < copies->count; i++)
        if (account == NULL || (strcmp(sql_text(copies, i, SHOW_COPIES_ACCOUNT), account) == 0 &&
                                strcmp(sql_text(copies, i, SHOW_COPIES_MAILBOX), mailbox) == 0 &&
                                strcmp(sql_text(copies, i, SHOW_COPIES_STATE), "stored") == 0))
            add_result(&verifier, copies, i, table);
    return table;
}

struct sql_rows *verify_options(struct cmd *cmd, const struct sql_rows *messages, size_t row)
{
    return search_copies(cmd, messages, row, NULL, NULL);
}

struct sql_rows *verify_copy(struct cmd *cmd, const struct sql_rows *messages, size_t row, const char *account,
                             const char *mailbox)
{
    return search_copies(cmd, messages, row, account, mailbox);
}
