/* SPDX-License-Identifier: ISC */
#include "lmtp/lmtp_recipient.h"

#include "base/deadline.h"
#include "delivery/refused.h"
#include "lmtp/lmtp_message.h"

static void examine(struct lmtp *lmtp, const struct address *address, struct report *report)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    struct fault fault;
    bool bounce = lmtp->config->route.unknown == UNKNOWN_BOUNCE;
    if (!lmtp_open_ledger(lmtp, lmtp->transaction.queue_id, &fault))
        return;
    enum route_result result = route_find(lmtp->config, lmtp->kept->ledger, address, &route, &fault);
    if (result == ROUTE_NONE)
        report_set(report, bounce ? OUTCOME_UNKNOWN_BOUNCE : OUTCOME_UNKNOWN_DEFER, "%s", fault.text);
    else if (result == ROUTE_OK &&
             refused_now(lmtp->kept->ledger, lmtp->kept->sessions, route.server, route.account, &fault))
        report_set(report, OUTCOME_MAILBOX, "%s", fault.text);
}

char *lmtp_recipient_objection(void *context, const struct address *address)
{
    struct lmtp *lmtp = context;
    struct report report = {.given = false};
    struct fault fault;
    char line[1024];
    bool goes_on = lmtp_stream_continues(lmtp->stream, "DATA") || lmtp_stream_continues(lmtp->stream, "RCPT");
    if (goes_on || lmtp->terms->only_login != NULL || !deadline_arm(lmtp->config->delivery.deadline, &fault))
        return NULL;
    examine(lmtp, address, &report);
    deadline_disarm();
    if (!report.given)
        return NULL;
    return base_printf("%d %s", outcome_row(report.outcome)->lmtp, report_line(&report, line, sizeof(line)));
}
