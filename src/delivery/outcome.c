/* SPDX-License-Identifier: ISC */
#include "delivery/outcome.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"

/* Postfix bounces on every exit status but 0, 71 and 75; a delivery ends with a row of this table, or
 * deferred, by a signal or by the front. front_reply.c lists the exit statuses, too. SQL's
 * lists of outcomes are made of it, too (sql/outcomes.awk), so each row is one line. */
static const struct outcome_row rows[OUTCOME_COUNT] = {
    [OUTCOME_TEMPFAIL] = {"tempfail", EX_TEMPFAIL, "4.3.0", 451, "deferred", false},
    [OUTCOME_STORED] = {"stored", EX_OK, "2.1.5", 250, "stored", true},
    [OUTCOME_QUARANTINED] = {"quarantined", EX_OK, "2.1.5", 250, "stored", true},
    [OUTCOME_DUPLICATE] = {"duplicate", EX_OK, "2.1.5", 250, "duplicate", true},
    [OUTCOME_BUSY] = {"busy", EX_TEMPFAIL, "4.3.0", 451, "deferred", false},
    [OUTCOME_CONFIG] = {"config", EX_TEMPFAIL, "4.3.5", 451, "deferred", false},
    [OUTCOME_DATABASE] = {"database", EX_TEMPFAIL, "4.3.0", 451, "deferred", false},
    [OUTCOME_MAILBOX] = {"mailbox", EX_TEMPFAIL, "4.4.1", 451, "deferred", false},
    [OUTCOME_OVERQUOTA_DEFER] = {"overquota", EX_TEMPFAIL, "4.2.2", 452, "deferred", false},
    [OUTCOME_OVERQUOTA_BOUNCE] = {"overquota", EX_UNAVAILABLE, "5.2.2", 552, "bounced", true},
    [OUTCOME_UNKNOWN_DEFER] = {"unknown", EX_TEMPFAIL, "4.1.1", 450, "deferred", false},
    [OUTCOME_UNKNOWN_BOUNCE] = {"unknown", EX_NOUSER, "5.1.1", 550, "bounced", true},
    [OUTCOME_TOO_LARGE] = {"too-large", EX_UNAVAILABLE, "5.3.4", 552, "bounced", true},
    [OUTCOME_REFUSED_DEFER] = {"refused", EX_TEMPFAIL, "4.6.0", 451, "deferred", false},
    [OUTCOME_REFUSED_BOUNCE] = {"refused", EX_DATAERR, "5.6.0", 554, "bounced", true},
    [OUTCOME_DELETED] = {"deleted", EX_OK, "2.1.5", 250, "duplicate", true},
    [OUTCOME_MISSING] = {"missing", EX_DATAERR, "5.3.0", 554, "bounced", true},
};

const struct outcome_row *outcome_row(enum outcome outcome)
{
    return &rows[outcome < OUTCOME_COUNT ? outcome : OUTCOME_TEMPFAIL];
}

/* The ledger accepts only UTF-8, but IMAP servers may send any bytes. */
void report_set(struct report *report, enum outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    char *valid = g_utf8_make_valid(text, -1);
    size_t length = strlen(valid);
    if (length >= sizeof(report->text))
        length = (size_t)(g_utf8_find_prev_char(valid, valid + sizeof(report->text)) - valid);
    memcpy(report->text, valid, length);
    report->text[length] = '\0';
    report->outcome = outcome;
    report->given = true;
    g_free(valid);
    g_free(text);
}

const char *report_line(const struct report *report, char *line, size_t size)
{
    char escaped[sizeof(report->text) * 4];
    snprintf(line, size, "%s %s", outcome_row(report->outcome)->dsn,
             log_escape(report->text[0] != '\0' ? report->text : "internal error", escaped, sizeof(escaped)));
    return line;
}

void report_write(const struct report *report)
{
    char line[1024];
    report_line(report, line, sizeof(line) - 1);
    size_t length = strlen(line);
    line[length++] = '\n';
    output_write_reply(line, length, outcome_row(report->outcome)->exit_status);
}
