/* SPDX-License-Identifier: ISC */
#include "differential/warden.h"

#include <stdio.h>
#include <string.h>

#include "differential/ground.h"
#include "ledger/ledger_session.h"
#include "postgres/pg.h"

static unsigned char identities[CONTENTS_MOST][LEDGER_HASH_SIZE];
static size_t identity_count;

void warden_begin(void)
{
    identity_count = 0;
    PQclear(warden_ask("DELETE FROM lease WHERE $1::integer = 0", 0, NULL));
}

void ground_pass(int hours)
{
    for (size_t i = 0; i < identity_count; i++)
        PQclear(
            warden_ask("UPDATE copy SET attempt_at = attempt_at - $1::integer * interval '1 hour',"
                       " first_at = first_at - $1::integer * interval '1 hour'"
                       " WHERE message IN (SELECT id FROM message WHERE identity = $2::bytea)",
                       hours, identities[i]));
    PQclear(warden_ask("UPDATE lease SET expires_at = expires_at - $1::integer * interval '1 hour'", hours, NULL));
}

static unsigned number_of(const char *name)
{
    return (unsigned)(name[1] - '0');
}

static void read_deliveries(int64_t message, struct ground_record *ret)
{
    PGresult *rows OD_CLEANUP(pg_clear) =
        warden_ask("SELECT recipient, finished_at IS NOT NULL, whole, tries, outcome FROM delivery WHERE message = $1",
                   message, NULL);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct ground_delivery *row = &ret->deliveries[number_of(PQgetvalue(rows, i, 0))];
        *row = (struct ground_delivery){
            .there = true,
            .finished = pg_bool(rows, i, 1),
            .whole = pg_bool(rows, i, 2),
            .tries = (int)pg_int(rows, i, 3),
        };
        snprintf(row->outcome, sizeof(row->outcome), "%s", PQgetvalue(rows, i, 4));
    }
}

static void read_copies(int64_t message, struct ground_record *ret)
{
    PGresult *rows OD_CLEANUP(pg_clear) = warden_ask(
        "SELECT c.account, c.mailbox, c.role = 'sent', c.state, c.doubt, c.error IS NOT NULL, c.attempt, c.repeated,"
        " floor(extract(epoch FROM clock_timestamp() - c.attempt_at) / 3600)::bigint,"
        " floor(extract(epoch FROM clock_timestamp() - c.first_at) / 3600)::bigint, c.claim, d.recipient,"
        " c.uidvalidity, c.uid FROM copy c JOIN delivery d ON d.id = c.claimed_by WHERE c.message = $1",
        message, NULL);
    for (int i = 0; i < PQntuples(rows); i++)
        ret->copies[number_of(PQgetvalue(rows, i, 0))][PQgetvalue(rows, i, 1)[0] == 'S'] = (struct ground_copy){
            .role = pg_bool(rows, i, 2) ? COPY_SENT : COPY_INBOX,
            .state = ledger_state(PQgetvalue(rows, i, 3)),
            .doubt = pg_bool(rows, i, 4),
            .error = pg_bool(rows, i, 5),
            .attempt = (int)pg_int(rows, i, 6),
            .repeated = (int)pg_int(rows, i, 7),
            .hours = pg_int(rows, i, 8),
            .first_hours = pg_int(rows, i, 9),
            .token = pg_int(rows, i, 10),
            .owner = number_of(PQgetvalue(rows, i, 11)),
            .uidvalidity = pg_int(rows, i, 12),
            .uid = pg_int(rows, i, 13),
        };
}

static void keep_identity(const unsigned char *identity)
{
    for (size_t i = 0; i < identity_count; i++)
        if (memcmp(identities[i], identity, LEDGER_HASH_SIZE) == 0)
            return;
    memcpy(identities[identity_count++], identity, LEDGER_HASH_SIZE);
}

void ground_read(const struct ledger_message *content, struct ground_record *ret)
{
    char digest[2 * LEDGER_HASH_SIZE + 1];
    base_hex(content->digest, LEDGER_HASH_SIZE, digest);
    keep_identity(content->identity);
    PGresult *rows OD_CLEANUP(pg_clear) = warden_ask(
        "SELECT id, extract(epoch FROM received_at)::bigint, encode(digest, 'hex') FROM message"
        " WHERE identity = $2::bytea AND $1::bigint = 0",
        0, content->identity);
    for (int i = 0; i < PQntuples(rows); i++) {
        if (strcmp(PQgetvalue(rows, i, 2), digest) != 0)
            continue;
        ret->known = true;
        ret->received_at = pg_int(rows, i, 1);
        read_deliveries(pg_int(rows, i, 0), ret);
        read_copies(pg_int(rows, i, 0), ret);
    }
}
