/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

#include <string.h>

#define NAME_SIZE 500 /* of names only displayed */

char *ledger_refusal_id(const char *server, const char *account)
{
    char *both OD_CLEANUP(base_free) = base_printf("%s%c%s", server, '\0', account);
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)both, strlen(server) + 1 + strlen(account));
}

static struct ledger_refusal refusal_of_row(const struct sql_rows *rows, size_t row)
{
    struct ledger_refusal refusal = {
        .refusals = sql_number(rows, row, REFUSAL_READ_REFUSALS),
        .age_ms = sql_number(rows, row, REFUSAL_READ_AGE_MS),
        .wait_ms = sql_number(rows, row, REFUSAL_READ_WAIT_MS),
    };
    g_strlcpy(refusal.reason, sql_text(rows, row, REFUSAL_READ_REASON), sizeof(refusal.reason));
    return refusal;
}

bool ledger_refusal_read(struct ledger *ledger, const char *id, struct ledger_refusal *ret, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_query_or_retry(ledger_read, ledger, SQL_STEP(refusal_read, .ids = SQL_TEXTS(&id, 1)), error);
    if (rows != NULL)
        *ret = rows->count == 1 ? refusal_of_row(rows, 0) : (struct ledger_refusal){.refusals = 0};
    return rows != NULL;
}

bool ledger_refusal_record(struct ledger *ledger, const char *server, const char *account,
                           const struct ledger_refusal *refusal, struct error *error)
{
    char *id OD_CLEANUP(base_free) = ledger_refusal_id(server, account);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_query_or_retry(ledger_write, ledger,
                              SQL_STEP(refusal_record, .id = SQL_TEXT(id), .server = SQL_TEXT_CUT(server, NAME_SIZE),
                                       .account = SQL_TEXT_CUT(account, NAME_SIZE),
                                       .refusals = SQL_NUMBER(refusal->refusals),
                                       .wait_ms = SQL_NUMBER(refusal->wait_ms), .reason = SQL_TEXT(refusal->reason)),
                              error);
    return rows != NULL;
}

bool ledger_refusal_forget(struct ledger *ledger, const char *id, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_query_or_retry(ledger_write, ledger, SQL_STEP(refusal_forget, .id = SQL_TEXT(id)), error);
    return rows != NULL;
}

bool ledger_add_refusals(struct ledger *ledger, const struct ledger_message *message)
{
    const char **ids OD_CLEANUP(base_free) = base_alloc((message->target_count + 1) * sizeof(char *));
    size_t count = 0;
    for (size_t i = 0; i < message->target_count; i++)
        if (message->targets[i].refusal != NULL)
            ids[count++] = message->targets[i].refusal;
    if (count > 0)
        sql_add(ledger->sql, SQL_STEP(refusal_read, .ids = SQL_TEXTS(ids, count)));
    return count > 0;
}

void ledger_take_refusals(const struct ledger_message *message, const struct sql_rows *rows, struct ledger_state *found)
{
    for (size_t row = 0; row < rows->count; row++)
        for (size_t i = 0; i < message->target_count; i++)
            if (message->targets[i].refusal != NULL &&
                strcmp(message->targets[i].refusal, sql_text(rows, row, REFUSAL_READ_ID)) == 0)
                found->copies[i].refusal = refusal_of_row(rows, row);
}
