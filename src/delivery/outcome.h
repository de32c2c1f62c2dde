/* SPDX-License-Identifier: ISC
 *
 * The possible outcomes of a delivery, and the table of what to answer to Postfix (RFC 3463, sysexits.h). */
#ifndef ONCEDROP_OUTCOME_H
#define ONCEDROP_OUTCOME_H

#include "base/base.h"

/* OUTCOME_TROUBLE is 0: an outcome that was never set is trouble of our own, which Postfix retries. */
enum outcome {
    OUTCOME_TROUBLE,
    OUTCOME_STORED,
    OUTCOME_QUARANTINED, /* stored, as the attachment of an explanation */
    OUTCOME_DUPLICATE,
    OUTCOME_BUSY,   /* another delivery is delivering it; "held" to Postfix and in the record */
    OUTCOME_CONFIG, /* configuration, usage */
    OUTCOME_DATABASE,
    OUTCOME_MAILBOX, /* IMAP: connection, TLS, login, any refusal whose reason is not certain */
    OUTCOME_OVERQUOTA_DEFER,
    OUTCOME_OVERQUOTA_BOUNCE,
    OUTCOME_UNKNOWN_DEFER,
    OUTCOME_UNKNOWN_BOUNCE,
    OUTCOME_TOO_LARGE,
    OUTCOME_REFUSED_DEFER, /* the IMAP server does not accept this content */
    OUTCOME_REFUSED_BOUNCE,
    OUTCOME_DELETED, /* restore: perhaps deleted from its mailbox, and left so */
    OUTCOME_MISSING, /* restore: not in its mailbox, and its bytes are not recorded */
    OUTCOME_COUNT,
};

/* An outcome's row. */
struct outcome_row {
    const char *name;   /* as in column delivery.outcome */
    int exit_status;    /* of `deliver` */
    const char *dsn;    /* enhanced status code */
    int lmtp;           /* reply code */
    const char *status; /* in the log: stored, duplicate, deferred, bounced */
    bool final;         /* Postfix will not retry this recipient */
};

const struct outcome_row *outcome_row(enum outcome outcome) OD_MUST;

/* The result for one recipient. All zero: not given yet, which counts as trouble. */
struct report {
    bool given;
    enum outcome outcome;
    char text[512];
};

void report_set(struct report *report, enum outcome outcome, const char *format, ...) OD_PRINTF(3, 4);

/* The line for Postfix, "D.S.N text" without line end, control characters escaped, cut to size. Returns line. */
const char *report_line(const struct report *report, char *line, size_t size);

/* Gives that line to Postfix (base/output.h), unless an answer was given already. */
void report_give(const struct report *report);

#endif
