/* SPDX-License-Identifier: ISC
 *
 * The rows, as the warden sees them. */
#include <stdio.h>

#include "differential/engine.h"
#include "differential/fixture.h"
#include "ledger/ledger_internal.h"

void fixture_pass(int hours)
{
    (void)warden_finds(fixture_engine.age_copies, hours);
    if (fixture_engine.age_leases != NULL)
        (void)warden_finds(fixture_engine.age_leases, hours);
}

static unsigned number_of(const char *name)
{
    return (unsigned)(name[1] - '0');
}

static void read_deliveries(int64_t message, struct fixture_record *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = warden_ask(
        "SELECT recipient, CASE WHEN finished_at IS NULL THEN 'f' ELSE 't' END,"
        " CASE WHEN complete THEN 't' ELSE 'f' END, attempts, outcome FROM @schema@.delivery WHERE message = $1",
        SQL_NUMBER(message));
    for (size_t i = 0; i < rows->count; i++) {
        struct fixture_delivery *row = &ret->deliveries[number_of(sql_text(rows, i, 0))];
        *row = (struct fixture_delivery){
            .there = true,
            .finished = sql_bool(rows, i, 1),
            .complete = sql_bool(rows, i, 2),
            .tries = (int)sql_number(rows, i, 3),
        };
        snprintf(row->outcome, sizeof(row->outcome), "%s", sql_text(rows, i, 4));
    }
}

static void read_copies(int64_t message, struct fixture_record *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = warden_ask(fixture_engine.read_copies, SQL_NUMBER(message));
    for (size_t i = 0; i < rows->count; i++)
        ret->copies[number_of(sql_text(rows, i, 0))][sql_text(rows, i, 1)[0] == 'S'] = (struct fixture_copy){
            .role = sql_text(rows, i, 2)[0] == 's' ? COPY_SENT : COPY_INBOX,
            .state = ledger_copy_state_of_name(sql_text(rows, i, 3)),
            .doubt = sql_bool(rows, i, 4),
            .error = sql_bool(rows, i, 5),
            .generation = (int)sql_number(rows, i, 6),
            .repeated = (int)sql_number(rows, i, 7),
            .hours = sql_number(rows, i, 8),
            .first_hours = sql_number(rows, i, 9),
            .token = sql_number(rows, i, 10),
            .owner = number_of(sql_text(rows, i, 11)),
            .uidvalidity = sql_number(rows, i, 12),
            .uid = sql_number(rows, i, 13),
        };
}

void fixture_read(const struct ledger_message *content, struct fixture_record *ret)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        warden_ask(fixture_engine.read_message, SQL_BYTES(content->digest, LEDGER_HASH_SIZE));
    for (size_t i = 0; i < rows->count; i++) {
        ret->known = true;
        ret->received_at = sql_number(rows, i, 1);
        read_deliveries(sql_number(rows, i, 0), ret);
        read_copies(sql_number(rows, i, 0), ret);
    }
}
