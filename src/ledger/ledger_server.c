/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_due,
                        struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_query_or_retry(ledger_read, ledger,
                              SQL_STEP(server_read, .server = SQL_TEXT(server),
                                       .verified_ms = SQL_NUMBER(LEDGER_SERVER_VERIFIED_MS),
                                       .refused_ms = SQL_NUMBER(LEDGER_SERVER_REFUSED_MS)),
                              error);
    if (rows == NULL)
        return false;
    bool known = rows->count == 1;
    bool verified = known && sql_bool(rows, 0, SERVER_READ_VERIFIED);
    bool due = !known || sql_bool(rows, 0, SERVER_READ_DUE);
    if (known && due) { /* of several processes only one changes the row */
        struct sql_rows *ours OD_CLEANUP(sql_rows_free) =
            ledger_query_or_retry(ledger_write, ledger,
                                  SQL_STEP(server_set_out, .server = SQL_TEXT(server),
                                           .refused_ms = SQL_NUMBER(LEDGER_SERVER_REFUSED_MS)),
                                  error);
        if (ours == NULL)
            return false;
        due = ours->count == 1;
    }
    *ret = !known ? LEDGER_SERVER_NEW : verified ? LEDGER_SERVER_VERIFIED : LEDGER_SERVER_IGNORED;
    *ret_due = due;
    return true;
}

bool ledger_server_record(struct ledger *ledger, const char *server, bool verified, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_query_or_retry(ledger_write, ledger,
                              SQL_STEP(server_record, .server = SQL_TEXT(server), .verified = SQL_BOOL(verified)),
                              error);
    return rows != NULL;
}
