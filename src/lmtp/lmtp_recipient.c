/* SPDX-License-Identifier: ISC */
#include "lmtp/lmtp_internal.h"

#include "base/deadline.h"

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

char *lmtp_recipient_objection(void *context, const struct address *address)
{
    struct lmtp *lmtp = context;
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
