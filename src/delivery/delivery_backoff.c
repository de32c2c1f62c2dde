/* SPDX-License-Identifier: ISC
 *
 * The login backoff of the accounts of a message: what the ledger knows, and what this delivery learns. */
#include "delivery/delivery_internal.h"

static bool takes_login(const struct sessions *sessions, const struct config *config, const char *account)
{
    return !config_is_shared(config) && *config->imap.command == '\0' && !sessions_is_open(sessions, config, account);
}

void delivery_backoff_ask(struct delivery_work *work)
{
    struct targets *targets = &work->targets;
    size_t count = targets->message.target_count;
    work->refusals = base_alloc((count + 1) * sizeof(*work->refusals));
    for (size_t i = 0; i < count; i++) {
        const char *account = targets->list[i].account;
        targets->list[i].refusal = NULL;
        if (!takes_login(work->request->sessions, target_server(work, i), account))
            continue;
        work->refusals[i] = login_backoff_id(target_server(work, i), account);
        targets->list[i].refusal = work->refusals[i];
    }
}

void delivery_backoff_learn(struct delivery_work *work)
{
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        if (work->refusals[i] != NULL)
            login_backoff_learn(sessions_login_backoff(work->request->sessions), target_server(work, i),
                                work->targets.list[i].account, &work->found->copies[i].refusal);
}

bool delivery_backoff_now(struct ledger *ledger, struct sessions *sessions, const struct config *config,
                          const char *account, struct error *error)
{
    struct ledger_refusal known;
    struct error ignored;
    if (!takes_login(sessions, config, account))
        return false;
    char *id OD_CLEANUP(base_free) = login_backoff_id(config, account);
    if (ledger_refusal_read(ledger, id, &known, &ignored))
        login_backoff_learn(sessions_login_backoff(sessions), config, account, &known);
    return login_backoff_active(sessions_login_backoff(sessions), config, account, error);
}
