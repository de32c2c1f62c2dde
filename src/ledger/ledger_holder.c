/* SPDX-License-Identifier: ISC
 *
 * Asked when a lock was not granted; by then its holder may have gone. */
#include "ledger/ledger_session.h"
#include "message/message.h"

bool ledger_add_holder(struct ledger *ledger, const struct ledger_message *message, struct fault *fault)
{
    const struct lock lock = ledger_lock(ledger, message_lock_key(message->identity));
    return lock_add_holder(ledger->pg, &lock, fault);
}

void ledger_take_holder(struct ledger *ledger, size_t mark)
{
    struct fault ignored;
    PGresult *result OD_CLEANUP(pg_clear) = pg_take(ledger->pg, mark, &ignored);
    base_free(&ledger->holder);
    if (result == NULL || PQntuples(result) == 0)
        return;
    const char *name = PQgetvalue(result, 0, 0);
    if (pg_bool(result, 0, 3))
        ledger->holder = base_strdup(name);
    else
        ledger->holder = base_printf("%s (database user %s, process %s)",
                                     name[0] != '\0' ? name : "a session without a name", PQgetvalue(result, 0, 1),
                                     PQgetvalue(result, 0, 2));
}

char *ledger_holder(struct ledger *ledger, const struct ledger_message *message)
{
    struct fault ignored;
    char *holder = ledger->holder;
    if (holder == NULL && ledger->pg != NULL && !ledger->in_transaction && pg_usable(ledger->pg)) {
        if (ledger_add_path(ledger, &ignored) && ledger_add_holder(ledger, message, &ignored) &&
            pg_send(ledger->pg, &ignored))
            ledger_take_holder(ledger, pg_mark(ledger->pg) - 1);
        pg_finish(ledger->pg);
        holder = ledger->holder;
    }
    ledger->holder = NULL;
    return holder;
}
