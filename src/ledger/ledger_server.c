/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_server.h"

#include "ledger/ledger_lock.h"

bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_look,
                        struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_run_or_retry(ledger_ask, ledger,
                            SQL_STEP(server_read, .server = SQL_TEXT(server),
                                     .honoured_ms = SQL_NUMBER(LEDGER_SERVER_HONOURED_MS),
                                     .refused_ms = SQL_NUMBER(LEDGER_SERVER_REFUSED_MS)),
                            fault);
    if (rows == NULL)
        return false;
    bool known = rows->count == 1;
    bool honoured = known && sql_truth(rows, 0, SERVER_READ_HONOURED);
    bool look = !known || sql_truth(rows, 0, SERVER_READ_LOOK);
    if (known && look) { /* of several processes only one changes the row */
        struct sql_rows *ours OD_CLEANUP(sql_rows_free) =
            ledger_run_or_retry(ledger_change, ledger,
                                SQL_STEP(server_set_out, .server = SQL_TEXT(server),
                                         .refused_ms = SQL_NUMBER(LEDGER_SERVER_REFUSED_MS)),
                                fault);
        if (ours == NULL)
            return false;
        look = ours->count == 1;
    }
    *ret = !known ? LEDGER_SERVER_NEW : honoured ? LEDGER_SERVER_HONOURED : LEDGER_SERVER_IGNORED;
    *ret_look = look;
    return true;
}

bool ledger_server_record(struct ledger *ledger, const char *server, bool honoured, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_run_or_retry(ledger_change, ledger,
                            SQL_STEP(server_record, .server = SQL_TEXT(server), .honoured = SQL_TRUTH(honoured)),
                            fault);
    return rows != NULL;
}

void ledger_add_server(struct ledger *ledger)
{
    sql_add(ledger->sql, SQL_STEP(server_record, .server = SQL_TEXT("check"), .honoured = SQL_TRUTH(true)));
    sql_add(ledger->sql, SQL_STEP(server_read, .server = SQL_TEXT("check"), .honoured_ms = SQL_NUMBER(0),
                                  .refused_ms = SQL_NUMBER(0)));
    sql_add(ledger->sql, SQL_STEP(server_set_out, .server = SQL_TEXT("check"), .refused_ms = SQL_NUMBER(0)));
}
