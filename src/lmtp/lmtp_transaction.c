/* SPDX-License-Identifier: ISC */
#include "lmtp/lmtp_internal.h"

#include <string.h>

#include "base/log.h"

static void recipient_clear(void *item)
{
    struct lmtp_recipient *recipient = item;
    base_free(&recipient->path);
    address_clear(&recipient->address);
    base_free(&recipient->original);
}

struct lmtp_transaction lmtp_transaction_new(void)
{
    struct lmtp_transaction transaction = {.recipients = g_array_new(FALSE, FALSE, sizeof(struct lmtp_recipient))};
    g_array_set_clear_func(transaction.recipients, recipient_clear);
    return transaction;
}

void lmtp_transaction_reset(struct lmtp_transaction *transaction)
{
    base_free(&transaction->sender);
    base_free(&transaction->queue_id);
    g_array_set_size(transaction->recipients, 0);
}

void lmtp_transaction_clear(struct lmtp_transaction *transaction)
{
    lmtp_transaction_reset(transaction);
    g_array_unref(transaction->recipients);
}

static bool mistake(struct lmtp *lmtp, const char *reply)
{
    lmtp_stream_reply(lmtp->stream, "%s", reply);
    return false;
}

/* Logs a refusal before there is a delivery. */
static void log_refused(const struct lmtp *lmtp, enum log_field_name who, const char *address, const char *dsn,
                        const char *status, const char *text)
{
    const struct log_line line = {
        lmtp->transaction.queue_id != NULL ? lmtp->transaction.queue_id : "NOQUEUE",
        {{who, address}, {LOG_FIELD_DSN, dsn}, {LOG_FIELD_STATUS, status}},
    };
    log_fields(&line, text);
}

/* SIZE (RFC 1870), BODY (RFC 6152). */
static bool value_is_valid(const char *name, const char *value)
{
    if (g_ascii_strcasecmp(name, "SIZE") == 0)
        return *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    if (g_ascii_strcasecmp(name, "BODY") == 0)
        return g_ascii_strcasecmp(value, "7BIT") == 0 || g_ascii_strcasecmp(value, "8BITMIME") == 0;
    return true;
}

static bool is_known(const char *const *known, const char *name)
{
    while (*known != NULL && g_ascii_strcasecmp(name, *known) != 0)
        known++;
    return *known != NULL;
}

/* Checks parameters of MAIL or RCPT; false: client error. Increases *ret_size. Sets *ret_orcpt to a new string for an
 * address. */
static bool check_parameters(struct lmtp *lmtp, const char *parameters, const char *const *known, int64_t *ret_size,
                             char **ret_orcpt)
{
    for (;;) {
        char *name OD_CLEANUP(base_free) = NULL;
        char *value OD_CLEANUP(base_free) = NULL;
        if (!lmtp_command_parameter(&parameters, &name, &value))
            return true;
        if (!is_known(known, name))
            return mistake(lmtp, "555 5.5.4 unknown parameter");
        if (!value_is_valid(name, value))
            return mistake(lmtp, "501 5.5.4 invalid parameter value");
        if (g_ascii_strcasecmp(name, "SIZE") == 0)
            *ret_size = MAX(*ret_size, g_ascii_strtoll(value, NULL, 10));
        if (g_ascii_strcasecmp(name, "ORCPT") == 0) {
            base_free(ret_orcpt);
            *ret_orcpt = lmtp_command_orcpt(value);
        }
    }
}

/* Announced, or without effect. */
static const char *const mail_parameters[] = {"SIZE", "BODY", "SMTPUTF8", "AUTH", "RET", "ENVID", NULL};
static const char *const rcpt_parameters[] = {"NOTIFY", "ORCPT", NULL};

bool lmtp_transaction_mail(struct lmtp *lmtp, const char *arguments)
{
    char *path OD_CLEANUP(base_free) = NULL, *orcpt OD_CLEANUP(base_free) = NULL;
    int64_t size = 0, limit = lmtp->config->delivery.size_limit;
    const char *parameters;
    if (lmtp->transaction.sender != NULL)
        return mistake(lmtp, "503 5.5.1 nested MAIL");
    if (!lmtp_command_path(arguments, "FROM:", &path, &parameters))
        return mistake(lmtp, "501 5.5.4 syntax: MAIL FROM:<address>");
    if (!check_parameters(lmtp, parameters, mail_parameters, &size, &orcpt))
        return false;
    if (limit > 0 && size > limit) {
        log_refused(lmtp, LOG_FIELD_FROM, path, "5.3.4", "bounced", "message is larger than delivery.size_limit");
        lmtp_stream_reply(lmtp->stream, "552 5.3.4 message is larger than delivery.size_limit (%lld bytes)",
                          (long long)limit);
        return true;
    }
    lmtp->transaction.sender = g_steal_pointer(&path);
    lmtp_stream_reply(lmtp->stream, "250 2.1.0 ok");
    return true;
}

/* reply: "CODE D.S.N text" */
static void refuse_recipient(struct lmtp *lmtp, const char *path, const char *reply)
{
    g_auto(GStrv) words = g_strsplit(reply, " ", 3);
    log_refused(lmtp, LOG_FIELD_TO, path, words[1], reply[0] == '5' ? "bounced" : "deferred", words[2]);
    lmtp_stream_reply(lmtp->stream, "%s", reply);
}

static void examine(struct lmtp *lmtp, const struct address *address, struct report *report)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    struct error error;
    bool bounce = lmtp->config->route.unknown_account == UNKNOWN_BOUNCE;
    if (!lmtp_open_ledger(lmtp, lmtp->transaction.queue_id, &error))
        return;
    enum route_result result = route_find(lmtp->config, lmtp->cache->ledger, address, &route, &error);
    if (result == ROUTE_NONE)
        report_set(report, bounce ? OUTCOME_UNKNOWN_BOUNCE : OUTCOME_UNKNOWN_DEFER, "%s", error.text);
    else if (result == ROUTE_OK &&
             delivery_backoff_now(lmtp->cache->ledger, lmtp->cache->sessions, route.server, route.account, &error))
        report_set(report, OUTCOME_MAILBOX, "%s", error.text);
}

/* Returns the reply to RCPT, a new string, for a recipient to refuse; else NULL. */
static char *find_objection(struct lmtp *lmtp, const struct address *address)
{
    struct report report = {.given = false};
    struct error error;
    char line[1024];
    bool goes_on = lmtp_stream_continues(lmtp->stream, "DATA") || lmtp_stream_continues(lmtp->stream, "RCPT");
    if (goes_on || lmtp->terms->only_login != NULL || !deadline_arm(lmtp->config->delivery.deadline, &error))
        return NULL;
    examine(lmtp, address, &report);
    deadline_disarm();
    if (!report.given)
        return NULL;
    return base_printf("%d %s", outcome_row(report.outcome)->lmtp, report_line(&report, line, sizeof(line)));
}

bool lmtp_transaction_rcpt(struct lmtp *lmtp, const char *arguments)
{
    struct lmtp_recipient recipient OD_CLEANUP(recipient_clear) = {.path = NULL};
    struct error error;
    const char *parameters;
    int64_t size = 0; /* RCPT has none */
    if (lmtp->transaction.sender == NULL)
        return mistake(lmtp, "503 5.5.1 need MAIL before RCPT");
    if (!lmtp_command_path(arguments, "TO:", &recipient.path, &parameters))
        return mistake(lmtp, "501 5.5.4 syntax: RCPT TO:<address>");
    if (!address_parse(recipient.path, &recipient.address, &error)) {
        refuse_recipient(lmtp, recipient.path, "501 5.1.3 not an address");
        return false;
    }
    if (!check_parameters(lmtp, parameters, rcpt_parameters, &size, &recipient.original))
        return false;
    if (lmtp->transaction.recipients->len >= LMTP_RECIPIENTS_MAX) {
        refuse_recipient(lmtp, recipient.path, "452 4.5.3 too many recipients");
        return true;
    }
    char *objection OD_CLEANUP(base_free) = find_objection(lmtp, &recipient.address);
    if (objection != NULL) {
        refuse_recipient(lmtp, recipient.path, objection);
        return true;
    }
    g_array_append_val(lmtp->transaction.recipients, recipient);
    memset(&recipient, 0, sizeof(recipient));
    lmtp_stream_reply(lmtp->stream, "250 2.1.5 ok");
    return true;
}

void lmtp_transaction_xforward(struct lmtp *lmtp, const char *arguments)
{
    for (;;) {
        char *name OD_CLEANUP(base_free) = NULL;
        char *value OD_CLEANUP(base_free) = NULL;
        if (!lmtp_command_parameter(&arguments, &name, &value))
            break;
        if (g_ascii_strcasecmp(name, "IDENT") != 0 || !lmtp_command_xtext(value))
            continue;
        base_free(&lmtp->transaction.queue_id);
        if (g_ascii_strcasecmp(value, "[UNAVAILABLE]") != 0 && *value != '\0' && g_utf8_validate(value, -1, NULL))
            lmtp->transaction.queue_id = g_steal_pointer(&value);
    }
    lmtp_stream_reply(lmtp->stream, "250 2.0.0 ok");
}
