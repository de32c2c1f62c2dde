/* SPDX-License-Identifier: ISC
 *
 * The account of an address, by the site's own query (route.account_query). */
#include "ledger/ledger_lock.h"

/* The query is the site's own: it may rely on the search_path of its role. */
static bool lookup_once(struct ledger *ledger, const char *query, const char *address, bool *ret_found,
                        char *ret_columns[3], struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    ledger_add_begin_as_is(ledger);
    size_t mark = pg_mark(ledger->pg);
    pg_add(ledger->pg, query, PG_PARAMS(PG_TEXT(address)));
    pg_add(ledger->pg, "ROLLBACK", 0, NULL);
    PGresult *result OD_CLEANUP(pg_clear) = pg_send(ledger->pg, fault) ? pg_take(ledger->pg, mark, fault) : NULL;
    pg_finish(ledger->pg);
    if (result == NULL) {
        ledger_rollback(ledger);
        return fault_prefix(fault, "[route] account_query");
    }
    if (PQntuples(result) > 1)
        return fault_set(fault, "[route] account_query: %d rows for one address, at most one is allowed",
                         PQntuples(result));
    if (PQnfields(result) == 0) /* a statement that never returns rows does not say that the account is unknown */
        return fault_set(fault, "[route] account_query: the statement returns no columns");
    *ret_found = PQntuples(result) == 1;
    for (int i = 0; *ret_found && i < 3; i++) /* as many of the three columns as it has */
        ret_columns[i] = i < PQnfields(result) ? pg_copy(result, 0, i) : NULL;
    return true;
}

bool ledger_lookup(struct ledger *ledger, const char *query, const char *address, bool *ret_found, char *ret_columns[3],
                   struct fault *fault)
{
    bool kept = ledger->pg != NULL;
    return lookup_once(ledger, query, address, ret_found, ret_columns, fault) ||
           (ledger_lost_kept(ledger, kept) && lookup_once(ledger, query, address, ret_found, ret_columns, fault));
}
