/* SPDX-License-Identifier: ISC */
#include "delivery/refused.h"

#include "ledger/ledger_refusal.h"

static bool takes_login(const struct sessions *sessions, const struct config *config, const char *account)
{
    return !config_is_shared(config) && *config->imap.command == '\0' && !sessions_open(sessions, config, account);
}

void refused_ask(struct delivery_work *work)
{
    struct targets *targets = &work->targets;
    size_t count = targets->message.target_count;
    work->refusals = base_alloc((count + 1) * sizeof(*work->refusals));
    for (size_t i = 0; i < count; i++) {
        const char *account = targets->list[i].account;
        if (!takes_login(work->request->sessions, target_server(work, i), account))
            continue;
        work->refusals[i] = refusals_id(target_server(work, i), account);
        targets->list[i].refusal = work->refusals[i];
    }
}

void refused_learn(struct delivery_work *work)
{
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        if (work->refusals[i] != NULL)
            refusals_learn(sessions_refusals(work->request->sessions), target_server(work, i),
                           work->targets.list[i].account, &work->found->copies[i].refusal);
}

bool refused_now(struct ledger *ledger, struct sessions *sessions, const struct config *config, const char *account,
                 struct fault *fault)
{
    struct ledger_refusal known;
    struct fault ignored;
    if (!takes_login(sessions, config, account))
        return false;
    char *id OD_CLEANUP(base_free) = refusals_id(config, account);
    if (ledger_refusal_read(ledger, id, &known, &ignored))
        refusals_learn(sessions_refusals(sessions), config, account, &known);
    return refusals_hold(sessions_refusals(sessions), config, account, fault);
}
