/* SPDX-License-Identifier: ISC
 *
 * Looks in this process's memory, then in the ledger, then at the server. */
#include "delivery/server.h"

#include "base/log.h"
#include "delivery/answers.h"
#include "ledger/ledger_server.h"
#include "mailbox/mailbox.h"

#define LOOKS_MOST 3 /* how many accounts to try, as any of them may be missing on the server */

/* Examines the server, and records the result if it is certain. */
static enum identity_result look_at_server(struct delivery_work *work, const char *server, struct fault *fault)
{
    enum identity_result result = IDENTITY_UNKNOWN;
    struct fault minor;
    char text[1024];
    for (size_t i = 0; result == IDENTITY_UNKNOWN && i < work->targets.message.target_count && i < LOOKS_MOST; i++)
        result = mailbox_identity(work->request->config, work->targets.list[work->targets.order[i]].account, fault);
    if (result == IDENTITY_UNKNOWN)
        return result;
    if (!ledger_server_record(work->delivery->ledger, server, result == IDENTITY_COUNTS, &minor))
        log_warning("the result of testing the IMAP server could not be recorded: %s",
                    log_escape_text(minor.text, text, sizeof(text)));
    return result;
}

static bool is_trusted(struct delivery_work *work, enum outcome *ret, struct fault *fault)
{
    const struct delivery_request *request = work->request;
    enum ledger_server known;
    bool to_look;
    char text[1024];
    if (request->dry_run || !mailbox_delegates(request->config) || sessions_trusted(request->sessions))
        return true;
    char *server OD_CLEANUP(base_free) = mailbox_server(request->config);
    *ret = OUTCOME_DATABASE;
    if (!ledger_server_read(work->delivery->ledger, server, &known, &to_look, fault))
        return false;
    enum identity_result found = to_look ? look_at_server(work, server, fault) : IDENTITY_UNKNOWN;
    if (found == IDENTITY_UNKNOWN && known == LEDGER_SERVER_HONOURED) {
        if (to_look)
            log_warning("%s", log_escape_text(fault->text, text, sizeof(text)));
        found = IDENTITY_COUNTS;
    }
    if (found == IDENTITY_COUNTS) {
        sessions_trust(request->sessions);
        return true;
    }
    *ret = found == IDENTITY_IGNORED || known == LEDGER_SERVER_IGNORED ? OUTCOME_CONFIG : OUTCOME_MAILBOX;
    if (!to_look)
        fault_set(fault,
                  "IMAP server %s was found to open the same INBOX whatever account is named; run oncedrop check to see"
                  " whether it still does",
                  server);
    return false;
}

bool server_trusted(struct delivery_work *work)
{
    struct fault fault = {.text = ""};
    enum outcome outcome;
    bool trusted = is_trusted(work, &outcome, &fault);
    if (!trusted)
        answers_rest(work, outcome, fault.text);
    delivery_spent(work->delivery, PHASE_DATABASE);
    return trusted;
}
