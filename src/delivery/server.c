/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

#include "base/log.h"

#define PROBES_MAX 3                 /* accounts to try: any may be missing on the server */
#define VERIFIED_MS INT64_C(3600000) /* for so long an identity is not verified again */

static enum identity_result verify_identity(struct delivery_work *work, const struct config *config, const char *name,
                                            struct error *error)
{
    enum identity_result result = IDENTITY_UNKNOWN;
    struct refusals *refusals = sessions_login_backoff(work->request->sessions);
    size_t probes = 0;
    struct error minor;
    char text[1024];
    for (size_t i = 0; result == IDENTITY_UNKNOWN && i < work->targets.message.target_count && probes < PROBES_MAX;
         i++) {
        size_t target = work->targets.order[i];
        if (target_server(work, target) != config)
            continue;
        const char *account = work->targets.list[target].account;
        if (login_backoff_active(refusals, config, account, error))
            continue;
        probes++;
        result = mailbox_identity(config, account, error);
        if (result == IDENTITY_UNKNOWN)
            login_backoff_failed(refusals, config, account, false, error);
    }
    if (result == IDENTITY_UNKNOWN)
        return result;
    if (!ledger_server_record(work->delivery->ledger, name, result == IDENTITY_COUNTS, &minor))
        log_warning("the result of testing the IMAP server could not be recorded: %s",
                    log_escape_text(minor.text, text, sizeof(text)));
    return result;
}

/* Returns true if the server's identity matters and this process does not know that it is verified. */
static bool must_verify(const struct delivery_work *work, const struct config *config)
{
    const struct breaker *breaker = sessions_breaker(work->request->sessions, config);
    return !work->request->dry_run && mailbox_delegates(config) && base_now_ms() >= breaker->identity_verified_until;
}

static bool identity_is_verified(struct delivery_work *work, const struct config *config, enum outcome *ret,
                                 struct error *error)
{
    const struct delivery_request *request = work->request;
    enum ledger_server known;
    bool verify_due;
    char text[1024];
    struct breaker *breaker = sessions_breaker(request->sessions, config);
    if (!must_verify(work, config))
        return true;
    char *name OD_CLEANUP(base_free) = mailbox_server(config);
    *ret = OUTCOME_MAILBOX;
    if (breaker_is_open(breaker, error))
        return false;
    *ret = OUTCOME_DATABASE;
    if (!ledger_server_read(work->delivery->ledger, name, &known, &verify_due, error))
        return false;
    enum identity_result found = verify_due ? verify_identity(work, config, name, error) : IDENTITY_UNKNOWN;
    if (found == IDENTITY_UNKNOWN && known == LEDGER_SERVER_VERIFIED) {
        if (verify_due)
            log_warning("%s", log_escape_text(error->text, text, sizeof(text)));
        found = IDENTITY_COUNTS;
    }
    if (found == IDENTITY_COUNTS) {
        breaker->identity_verified_until = base_now_ms() + VERIFIED_MS;
        return true;
    }
    *ret = found == IDENTITY_IGNORED || known == LEDGER_SERVER_IGNORED ? OUTCOME_CONFIG : OUTCOME_MAILBOX;
    if (!verify_due)
        error_set(error,
                  "IMAP server %s was found to open the same INBOX for every account; run oncedrop check to see"
                  " whether it still does",
                  name);
    return false;
}

/* Defers the server's mail. If it has the Sent mailbox, defers all recipients: none gets a message before its Sent copy
 * can be made. */
static void leave_server(struct delivery_work *work, const struct config *config, enum outcome outcome,
                         const char *text)
{
    bool sent = false;
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        sent |= target_server(work, i) == config && work->targets.list[i].role == COPY_SENT;
    for (size_t i = 0; i < work->request->recipient_count; i++) {
        struct report *report = &work->delivery->replies[i].report;
        size_t target = work->targets.of_recipient[i];
        if (target != LEDGER_NO_TARGET && !report->given && (sent || target_server(work, target) == config))
            report_set(report, outcome, "%s", text);
    }
    targets_leave_out(&work->targets, work->request->recipient_count, config);
}

static bool any_left(const struct delivery_work *work)
{
    bool any = false;
    for (size_t i = 0; i < work->request->recipient_count; i++)
        any |= work->targets.of_recipient[i] != LEDGER_NO_TARGET && !work->delivery->replies[i].report.given;
    return any;
}

bool server_identity_verified(struct delivery_work *work)
{
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        const struct config *config = target_server(work, i);
        struct error error = {.text = ""};
        enum outcome outcome;
        if (identity_is_verified(work, config, &outcome, &error))
            continue;
        leave_server(work, config, outcome, error.text);
        i = SIZE_MAX; /* restart: the others have moved up */
    }
    delivery_add_time(work->delivery, PHASE_DATABASE);
    return any_left(work);
}

bool server_to_verify(const struct delivery_work *work, char **ret)
{
    const struct config *only = NULL;
    struct error ignored;
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        const struct config *config = target_server(work, i);
        if (!must_verify(work, config) || config == only)
            continue;
        if (only != NULL || breaker_is_open(sessions_breaker(work->request->sessions, config), &ignored))
            return false;
        only = config;
    }
    *ret = only != NULL ? mailbox_server(only) : NULL;
    return true;
}

void server_verified(const struct delivery_work *work)
{
    int64_t until = base_now_ms() + VERIFIED_MS;
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        const struct config *config = target_server(work, i);
        if (must_verify(work, config))
            sessions_breaker(work->request->sessions, config)->identity_verified_until = until;
    }
}
