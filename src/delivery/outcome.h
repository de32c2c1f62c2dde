/* SPDX-License-Identifier: ISC
 *
 * Outcomes, and the reply to Postfix for each (RFC 3463, sysexits.h). */
#ifndef ONCEDROP_OUTCOME_H
#define ONCEDROP_OUTCOME_H

#include "base/base.h"

/* 0: Postfix retries if no outcome was set. */
enum outcome {
    OUTCOME_TEMPFAIL,
    OUTCOME_STORED,
    OUTCOME_QUARANTINED, /* attached to a notice */
    OUTCOME_DUPLICATE,
    OUTCOME_BUSY, /* another delivery is delivering it */
    OUTCOME_CONFIG,
    OUTCOME_DATABASE,
    OUTCOME_MAILBOX, /* IMAP: connection, TLS, login, uncertain refusals */
    OUTCOME_OVERQUOTA_DEFER,
    OUTCOME_OVERQUOTA_BOUNCE,
    OUTCOME_UNKNOWN_DEFER,
    OUTCOME_UNKNOWN_BOUNCE,
    OUTCOME_TOO_LARGE,
    OUTCOME_REFUSED_DEFER, /* the server refuses this content */
    OUTCOME_REFUSED_BOUNCE,
    OUTCOME_DELETED, /* restore: perhaps deleted, not restored */
    OUTCOME_MISSING, /* restore: missing, its bytes not recorded */
    OUTCOME_COUNT,
};

struct outcome_row {
    const char *name; /* column delivery.outcome */
    int exit_status;
    const char *dsn; /* enhanced status code */
    int lmtp;
    const char *status; /* in the log */
    bool final;         /* Postfix will not retry */
};

const struct outcome_row *outcome_row(enum outcome outcome) OD_MUST;

/* The reply to one recipient. */
struct report {
    bool given;
    enum outcome outcome;
    char text[512];
};

void report_set(struct report *report, enum outcome outcome, const char *format, ...) OD_PRINTF(3, 4);

/* Writes "D.S.N text", escaped, truncated to size. Returns line. */
const char *report_line(const struct report *report, char *line, size_t size);

/* Writes that line to Postfix, unless a reply was written. */
void report_write(const struct report *report);

#endif
