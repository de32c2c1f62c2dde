/* SPDX-License-Identifier: ISC
 *
 * A ledger in PostgreSQL: the rows that oncedrop writes, in two transactions and two round trips, by as few statements as
 * can be. The second transaction has the advisory lock again while the message is stored. */
#include <err.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bare_ledger.h"

enum statement { BEGIN, LOCK, CLAIM, COMMIT, HOLD, STORED, STATEMENTS };

#define CLAIM_PARAMS 9

static const struct {
    int params;
    const char *text;
} statements[STATEMENTS] = {
    [BEGIN] = {0, "BEGIN"},
    [LOCK] = {1, "SELECT pg_try_advisory_xact_lock($1)"},
    [CLAIM] =
        {CLAIM_PARAMS,
         "WITH m AS (INSERT INTO oncedrop.message (identity, digest, lock_key, message_id, sender, \"from\", subject, date,"
         " size, received_at) VALUES (decode($1, 'hex'), decode($1, 'hex'), $2::bigint, $3, $4, '', 'Message',"
         " 'epoch', $5::bigint, clock_timestamp()) RETURNING id),"
         " a AS (INSERT INTO oncedrop.address (message, role, position, address)"
         " SELECT id, role, 1, address FROM m, (VALUES ('from', $4::text), ('to', $6)) AS v(role, address)),"
         " p AS (INSERT INTO oncedrop.part (message, path, type, size, sha256, text)"
         " SELECT id, '1', 'text/plain', $5::bigint, decode($1, 'hex'), $7 FROM m),"
         " d AS (INSERT INTO oncedrop.delivery (message, recipient, account, mailbox, host, outcome)"
         " SELECT id, $6, $6, 'INBOX', 'host', 'claimed' FROM m RETURNING id, message),"
         " t AS (INSERT INTO oncedrop.attempt (delivery, claim, started_at, host, pid, outcome, read_ms, lock_ms,"
         " database_ms, imap_ms) SELECT id, $8::bigint, clock_timestamp(), 'host', $9::integer, 'claimed', 0, 0, 0, 0"
         " FROM d)"
         " INSERT INTO oncedrop.copy (message, account, mailbox, role, state, claim, claimed_by, host, pid, boot,"
         " boot_us, host_us) SELECT message, $6, 'INBOX', 'inbox', 'appending', $8::bigint, id, 'host',"
         " $9::integer, 1, 1, 0 FROM d RETURNING id, claimed_by"},
    [COMMIT] = {0, "COMMIT"},
    [HOLD] = {2,
              "SELECT pg_advisory_xact_lock($1::bigint), c.state, pg_current_xact_id() FROM oncedrop.message m"
              " JOIN oncedrop.copy c ON c.message = m.id WHERE m.identity = decode($2, 'hex')"},
    [STORED] = {5,
                "WITH c AS (UPDATE oncedrop.copy SET state = 'stored', stored_at = clock_timestamp(),"
                " uidvalidity = $2::bigint, uid = $3::bigint WHERE id = $1::bigint), d AS (UPDATE oncedrop.delivery"
                " SET outcome = 'stored', reason = 'stored uid=1 mailbox=INBOX', last_at = clock_timestamp(),"
                " finished_at = clock_timestamp(), complete = true WHERE id = $4::bigint)"
                " UPDATE oncedrop.attempt SET outcome = 'stored', reason = 'stored uid=1 mailbox=INBOX',"
                " ended_at = clock_timestamp() WHERE delivery = $4::bigint AND claim = $5::bigint"},
};

static PGconn *ledger;
static int is_kept;
static struct {
    char claim[24], copy[24], delivery[24];
} begun;

static void send_statement(enum statement number, const char *const *values)
{
    char name[8];
    int sent, params = statements[number].params;
    snprintf(name, sizeof(name), "s%d", number);
    sent = is_kept ? PQsendQueryPrepared(ledger, name, params, values, NULL, NULL, 0)
                   : PQsendQueryParams(ledger, statements[number].text, params, NULL, values, NULL, NULL, 0);
    if (!sent)
        errx(1, "%s", PQerrorMessage(ledger));
}

/* Returns the first row's first value, and its second one, as copies; "" without. */
static void take(enum statement number, char first[24], char second[24])
{
    PGresult *result = PQgetResult(ledger);
    ExecStatusType status = PQresultStatus(result);
    int any = status == PGRES_TUPLES_OK && PQntuples(result) > 0;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        errx(1, "%s: %s", statements[number].text, PQerrorMessage(ledger));
    snprintf(first, 24, "%s", any ? PQgetvalue(result, 0, 0) : "");
    snprintf(second, 24, "%s", any && PQnfields(result) > 1 ? PQgetvalue(result, 0, 1) : "");
    PQclear(result);
    if (PQgetResult(ledger) != NULL)
        errx(1, "%s: more than one result", statements[number].text);
}

static void take_sync(void)
{
    PGresult *result = PQgetResult(ledger);
    if (PQresultStatus(result) != PGRES_PIPELINE_SYNC)
        errx(1, "no end of the pipeline: %s", PQerrorMessage(ledger));
    PQclear(result);
}

void ledger_open(const char *conninfo, int kept)
{
    is_kept = kept;
    ledger = PQconnectdb(conninfo);
    if (PQstatus(ledger) != CONNECTION_OK)
        errx(1, "%s", PQerrorMessage(ledger));
    for (int i = 0; kept && i < STATEMENTS; i++) {
        char name[8];
        snprintf(name, sizeof(name), "s%d", i);
        PGresult *result = PQprepare(ledger, name, statements[i].text, 0, NULL);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            errx(1, "%s", PQerrorMessage(ledger));
        PQclear(result);
    }
    if (!PQenterPipelineMode(ledger))
        errx(1, "%s", PQerrorMessage(ledger));
}

void ledger_claim(const struct bare_message *message)
{
    char hash[65], key[24], size[24], pid[24], ignored[24], granted[24], state[24];
    int64_t lock_key;
    for (int i = 0; i < 32; i++)
        snprintf(hash + 2 * i, 3, "%02x", (unsigned char)message->hash[i]);
    memcpy(&lock_key, message->hash, sizeof(lock_key));
    snprintf(key, sizeof(key), "%lld", (long long)lock_key);
    snprintf(size, sizeof(size), "%lld", (long long)message->size);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    snprintf(begun.claim, sizeof(begun.claim), "%lld", (long long)message->claim);
    char *text = strndup(message->text, (size_t)message->text_size);
    const char *values[CLAIM_PARAMS] = {
        hash, key, message->message_id, "lisa@elsewhere.example", size, message->account, text, begun.claim, pid};
    const char *const hold[] = {key, hash};
    send_statement(BEGIN, NULL);
    send_statement(LOCK, hold);
    send_statement(CLAIM, values);
    send_statement(COMMIT, NULL);
    send_statement(BEGIN, NULL);
    send_statement(HOLD, hold);
    if (!PQpipelineSync(ledger))
        errx(1, "%s", PQerrorMessage(ledger));
    take(BEGIN, ignored, ignored);
    take(LOCK, granted, ignored);
    take(CLAIM, begun.copy, begun.delivery);
    take(COMMIT, ignored, ignored);
    take(BEGIN, ignored, ignored);
    take(HOLD, ignored, state);
    take_sync();
    free(text);
    if (strcmp(granted, "t") != 0 || strcmp(state, "appending") != 0)
        errx(1, "no lock, or no claim");
}

void ledger_settle(unsigned uidvalidity, unsigned uid)
{
    char ignored[24], validity_text[24], uid_text[24];
    const char *const values[] = {begun.copy, validity_text, uid_text, begun.delivery, begun.claim};
    snprintf(validity_text, sizeof(validity_text), "%u", uidvalidity);
    snprintf(uid_text, sizeof(uid_text), "%u", uid);
    send_statement(STORED, values);
    send_statement(COMMIT, NULL);
    if (!PQpipelineSync(ledger))
        errx(1, "%s", PQerrorMessage(ledger));
    take(STORED, ignored, ignored);
    take(COMMIT, ignored, ignored);
    take_sync();
}

void ledger_close(void)
{
    PQfinish(ledger);
}
