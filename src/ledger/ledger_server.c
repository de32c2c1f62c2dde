/* SPDX-License-Identifier: ISC
 *
 * One row for each server: reading it, claiming a look, writing the result. */
#include "ledger/ledger_server.h"

#include "ledger/ledger_session.h"

#define OVER(column, number) "pg_catalog.clock_timestamp() - " column " > " number "::bigint * interval '1 millisecond'"

#define READ \
    "SELECT honoured," \
    " (honoured AND " OVER("checked_at", "$2") " OR NOT honoured AND " OVER("checked_at", "$3") ") AND" \
    " " OVER("tried_at", "$3") " FROM @schema@.server WHERE server = $1"

#define SET_OUT \
    "UPDATE @schema@.server SET tried_at = pg_catalog.clock_timestamp()" \
    " WHERE server = $1 AND " OVER("tried_at", "$2") " RETURNING 1"

#define RECORD \
    "INSERT INTO @schema@.server AS s (server, honoured, checked_at, tried_at)" \
    " VALUES ($1, $2, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp())" \
    " ON CONFLICT (server) DO UPDATE SET honoured = EXCLUDED.honoured, checked_at = EXCLUDED.checked_at," \
    " tried_at = EXCLUDED.tried_at"

/* A statement that is retried if it failed because a kept connection was lost. */
static PGresult *run_or_retry(ledger_run *once, struct ledger *ledger, const char *sql, size_t count,
                              const struct pg_param *params, struct fault *fault)
{
    bool kept = ledger->pg != NULL;
    PGresult *result = once(ledger, LEDGER_DELIVERY, sql, count, params, fault);
    if (result == NULL && ledger_lost_kept(ledger, kept))
        result = once(ledger, LEDGER_DELIVERY, sql, count, params, fault);
    return result;
}

bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_look,
                        struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) = run_or_retry(
        ledger_ask, ledger, READ,
        PG_PARAMS(PG_TEXT(server), PG_NUMBER(LEDGER_SERVER_HONOURED_MS), PG_NUMBER(LEDGER_SERVER_REFUSED_MS)), fault);
    if (result == NULL)
        return false;
    bool known = PQntuples(result) == 1;
    bool honoured = known && pg_bool(result, 0, 0);
    bool look = !known || pg_bool(result, 0, 1);
    if (known && look) { /* if several processes see that, only one of them changes the row */
        PGresult *ours OD_CLEANUP(pg_clear) =
            run_or_retry(ledger_change, ledger, SET_OUT,
                         PG_PARAMS(PG_TEXT(server), PG_NUMBER(LEDGER_SERVER_REFUSED_MS)), fault);
        if (ours == NULL)
            return false;
        look = PQntuples(ours) == 1;
    }
    *ret = !known ? LEDGER_SERVER_NEW : honoured ? LEDGER_SERVER_HONOURED : LEDGER_SERVER_IGNORED;
    *ret_look = look;
    return true;
}

bool ledger_server_record(struct ledger *ledger, const char *server, bool honoured, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) =
        run_or_retry(ledger_change, ledger, RECORD, PG_PARAMS(PG_TEXT(server), PG_BOOL(honoured)), fault);
    return result != NULL;
}

void ledger_add_server(struct ledger *ledger)
{
    pg_add(ledger->pg, RECORD, PG_PARAMS(PG_TEXT("check"), PG_TEXT("true")));
    pg_add(ledger->pg, READ, PG_PARAMS(PG_TEXT("check"), PG_TEXT("0"), PG_TEXT("0")));
    pg_add(ledger->pg, SET_OUT, PG_PARAMS(PG_TEXT("check"), PG_TEXT("0")));
}
