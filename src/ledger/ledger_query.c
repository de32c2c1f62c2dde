/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_query.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_session.h"
#include "message/decode.h"

#define LEDGER_CHECK_MS 4000    /* for an answer that takes a delivery some milliseconds */

void ledger_table_free(struct ledger_table **table)
{
    if (*table == NULL)
        return;
    for (size_t i = 0; i < (*table)->columns; i++)
        base_free(&(*table)->names[i]);
    for (size_t i = 0; i < (*table)->columns * (*table)->rows; i++)
        base_free(&(*table)->cells[i]);
    base_free(&(*table)->names);
    base_free(&(*table)->types);
    base_free(&(*table)->cells);
    base_free(table);
}

const char *ledger_cell(const struct ledger_table *table, size_t row, size_t column)
{
    const char *cell = table->cells[row * table->columns + column];
    return cell != NULL ? cell : "";
}

/* By the OIDs of pg_type.dat, which never change. */
static enum ledger_type type_of(Oid oid)
{
    switch (oid) {
    case 16:
        return LEDGER_BOOLEAN;
    case 20: case 21: case 23: case 700: case 701: case 1700:
        return LEDGER_NUMBER;
    case 114: case 3802:
        return LEDGER_JSON;
    default:
        return LEDGER_TEXT;
    }
}

static struct ledger_table *copy_table(const PGresult *result)
{
    struct ledger_table *table = base_alloc(sizeof(*table));
    table->columns = (size_t)PQnfields(result);
    table->rows = (size_t)PQntuples(result);
    table->names = base_alloc((table->columns + 1) * sizeof(char *));
    table->types = base_alloc((table->columns + 1) * sizeof(*table->types));
    table->cells = base_alloc((table->columns * table->rows + 1) * sizeof(char *));
    for (int column = 0; column < PQnfields(result); column++) {
        table->names[column] = base_strdup(PQfname(result, column));
        table->types[column] = type_of(PQftype(result, column));
        for (int row = 0; row < PQntuples(result); row++)
            if (!PQgetisnull(result, row, column))
                table->cells[(size_t)row * table->columns + (size_t)column] =
                    base_strdup(PQgetvalue(result, row, column));
    }
    return table;
}

struct ledger_table *ledger_query(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                                  struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return NULL;
    bool sent = pg_add(ledger->pg, sql, count, params, fault) && pg_send(ledger->pg, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_next(ledger->pg, fault) : NULL;
    pg_finish(ledger->pg);
    return result != NULL ? copy_table(result) : NULL;
}

/* What an administrator can do about a failed statement, by the SQLSTATE in its text. */
static void add_hint(struct fault *fault)
{
    static const char *const hints[][2] = {
        {"(SQLSTATE 0A000)", "is this a standby? database.conninfo must lead to the primary"},     /* BEGIN READ WRITE in recovery */
        {"(SQLSTATE 08P01)", "a pooler in front of the database has to be in transaction or session mode"},    /* of PgBouncer */
        {"(SQLSTATE 42501)", "grant the role <schema>_delivery to this database user"},    /* insufficient_privilege */
    };
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strstr(fault->text, hints[i][0]) != NULL && strstr(fault->text, hints[i][1]) == NULL)
            fault_set(fault, "%s (%s)", fault->text, hints[i][1]);
}

/* BEGIN and the try-lock; *ret: granted. The transaction stays open. */
static bool begin_try(struct ledger *ledger, int64_t key, bool *ret, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    pg_extend_timeout(ledger->pg, LEDGER_CHECK_MS - PG_TIMEOUT_MS);
    bool sent = ledger_add_begin(ledger, LEDGER_CHECK_MS, fault) &&
                lock_add_try(ledger->pg, ledger->config->lock.method, key, fault) && pg_send(ledger->pg, fault) &&
                pg_skip(ledger->pg, LEDGER_BEGIN_STATEMENTS, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_next(ledger->pg, fault) : NULL;
    bool kept = pg_finish(ledger->pg);
    if (result == NULL)
        add_hint(fault);
    else if (!kept)
        fault_set(fault, "database: the connection is closed as soon as a transaction is begun");
    else
        *ret = lock_granted(result);
    return result != NULL && kept;
}

/* A transaction of `other` beside that of `ledger` gave no answer: is it that one that it waits for? */
static void explain_silence(struct ledger *ledger, struct ledger *other, int64_t key, struct fault *fault)
{
    struct fault ignored;
    bool granted;
    if (other->pg == NULL || pg_usable(other->pg))  /* there was an answer: an error */
        return;
    ledger_rollback(ledger);
    if (begin_try(other, key, &granted, &ignored))
        fault_set(fault, "a second transaction waits until the first has ended: the pool has one connection, and two"
                         " deliveries cannot run at once; give it more (PgBouncer: default_pool_size)");
}

static bool check_lock(struct ledger *ledger, struct ledger *other, int64_t key, bool *ret, struct fault *fault)
{
    bool first = false, beside = false, second = true, after = false;
    if (!begin_try(ledger, key, &first, fault))
        return false;
    if (!begin_try(other, key ^ 1, &beside, fault)) {
        explain_silence(ledger, other, key ^ 1, fault);
        return false;
    }
    ledger_rollback(other);
    if (!begin_try(other, key, &second, fault)) {
        fault_prefix(fault, "the try of a lock that is held is to say so at once");
        return false;
    }
    ledger_rollback(other);
    ledger_rollback(ledger);
    if (!begin_try(other, key, &after, fault))
        return false;
    *ret = first && beside && !second && after;
    if (!first || !beside)
        fault_set(fault, "the lock is not granted although it is free");
    else if (second)
        fault_set(fault, "two sessions hold one lock: this database or pooler does not exclude, or they reached two"
                         " databases; all deliveries must reach one primary");
    else if (!after)
        fault_set(fault, "the lock is not released when its transaction ends");
    return true;
}

bool ledger_check_lock(struct ledger *ledger, struct ledger *other, bool *ret, struct fault *fault)
{
    int64_t key = 0;
    bool known = ledger_random(&key, fault) && check_lock(ledger, other, key, ret, fault);
    ledger_rollback(other);
    ledger_rollback(ledger);
    return known;
}

/* What a delivery writes besides the record: every column that its statements name. */
static const char *const claim_statements[] = {
    "INSERT INTO @schema@.delivery AS d (message, recipient, original_recipient, account, mailbox, queue_id, host, outcome,"
    " reason, finished_at, whole) SELECT id, 'check', 'check', 'check', 'check', 'check', 'check', 'claimed', NULL, NULL,"
    " false FROM @schema@.message WHERE identity = $1 AND digest = $2"
    " ON CONFLICT (message, recipient) DO UPDATE SET tries = d.tries + 1",

    "INSERT INTO @schema@.copy AS c (message, account, mailbox, role, state, doubt, claim, claimed_by, host, pid)"
    " SELECT m.id, 'check', 'check', 'inbox', 'appending', false, 0, d.id, 'check', 0"
    " FROM @schema@.message m JOIN @schema@.delivery d ON d.message = m.id WHERE m.identity = $1 AND m.digest = $2"
    " ON CONFLICT (message, account, mailbox) DO UPDATE SET attempt = c.attempt + 1, attempt_at = EXCLUDED.attempt_at,"
    " repeated = c.repeated + 1",

    "UPDATE @schema@.copy c SET state = 'stored', doubt = false, uidvalidity = 1, uid = 1, error = NULL,"
    " stored_at = pg_catalog.clock_timestamp() FROM @schema@.message m WHERE m.identity = $1 AND m.digest = $2"
    " AND c.message = m.id AND c.attempt = 1 AND c.claim = 0",

    "UPDATE @schema@.delivery d SET outcome = 'stored', last_at = pg_catalog.clock_timestamp(), whole = true,"
    " finished_at = coalesce(d.finished_at, pg_catalog.clock_timestamp()) FROM @schema@.message m"
    " WHERE m.identity = $1 AND m.digest = $2 AND d.message = m.id",
};

/* A record with as much in it as record.level asks for. */
static bool add_record(struct ledger *ledger, const struct ledger_claim *claim, size_t *statements,
                       struct fault *fault)
{
    static char text[] = "check";
    struct decoded_address address = {.role = "from", .position = 1, .address = text};
    struct decoded_part part = {.path = text, .type = text, .size = claim->size, .text = text};
    const struct decoded decoded = {
        .subject = text, .from = text,
        .addresses = &address, .address_count = ledger->config->record.level >= RECORD_HEADERS,
        .parts = &part, .part_count = ledger->config->record.level >= RECORD_TEXT,
    };
    return ledger_add_record(ledger, claim, &decoded, statements, fault);
}

/* Within the transaction that ledger_lock has opened: the record, the claim, its end. */
static bool write_all(struct ledger *ledger, const struct ledger_claim *claim, struct fault *fault)
{
    const struct pg_param params[] = {pg_bytes(claim->identity, LEDGER_HASH_SIZE), pg_bytes(claim->digest, LEDGER_HASH_SIZE)};
    size_t statements = 0;
    bool sent = add_record(ledger, claim, &statements, fault);
    for (size_t i = 0; sent && i < sizeof(claim_statements) / sizeof(claim_statements[0]); i++, statements++)
        sent = pg_add(ledger->pg, claim_statements[i], 2, params, fault);
    bool written = sent && pg_send(ledger->pg, fault) && pg_skip(ledger->pg, statements, fault);
    pg_finish(ledger->pg);
    return written;
}

bool ledger_check_write(struct ledger *ledger, struct fault *fault)
{
    struct ledger_copy copy = {.account = "check", .mailbox = "check", .role = COPY_SENT, .recipient = "check"};
    struct ledger_claim claim = {
        .message_id = "check", .sender = "check", .data = "check", .size = 5, .copies = &copy, .copy_count = 1,
    };
    int64_t random[2 * LEDGER_HASH_SIZE / sizeof(int64_t)];
    for (size_t i = 0; i < sizeof(random) / sizeof(random[0]); i++)
        if (!ledger_random(&random[i], fault))
            return false;
    memcpy(claim.identity, random, LEDGER_HASH_SIZE);
    memcpy(claim.digest, (const char *)random + LEDGER_HASH_SIZE, LEDGER_HASH_SIZE);
    claim.lock_key = random[0];
    enum ledger_result result = ledger_lock(ledger, &claim, fault);
    if (result == LEDGER_HELD)
        fault_set(fault, "the lock is not granted although it is free");
    bool written = result == LEDGER_OK && write_all(ledger, &claim, fault);
    if (!written)
        add_hint(fault);
    ledger_rollback(ledger);
    return written;
}

char *ledger_server_version(struct ledger *ledger, int64_t *ret_max_connections, struct fault *fault)
{
    struct ledger_table *table = ledger_query(ledger,
                                              "SELECT pg_catalog.current_setting('server_version'),"
                                              " pg_catalog.current_setting('max_connections')",
                                              0, NULL, fault);
    if (table == NULL)
        return NULL;
    char *version = base_strdup(ledger_cell(table, 0, 0));
    *ret_max_connections = strtoll(ledger_cell(table, 0, 1), NULL, 10);
    ledger_table_free(&table);
    return version;
}
