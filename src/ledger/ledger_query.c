/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_query.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_session.h"

void ledger_table_free(struct ledger_table **table)
{
    if (*table == NULL)
        return;
    for (size_t i = 0; i < (*table)->columns; i++)
        base_free(&(*table)->names[i]);
    for (size_t i = 0; i < (*table)->columns * (*table)->rows; i++)
        base_free(&(*table)->cells[i]);
    base_free(&(*table)->names);
    base_free(&(*table)->cells);
    base_free(table);
}

const char *ledger_cell(const struct ledger_table *table, size_t row, size_t column)
{
    const char *cell = table->cells[row * table->columns + column];
    return cell != NULL ? cell : "";
}

static struct ledger_table *copy_table(const PGresult *result)
{
    struct ledger_table *table = base_alloc(sizeof(*table));
    table->columns = (size_t)PQnfields(result);
    table->rows = (size_t)PQntuples(result);
    table->names = base_alloc((table->columns + 1) * sizeof(char *));
    table->cells = base_alloc((table->columns * table->rows + 1) * sizeof(char *));
    for (int column = 0; column < PQnfields(result); column++) {
        table->names[column] = base_strdup(PQfname(result, column));
        for (int row = 0; row < PQntuples(result); row++)
            if (!PQgetisnull(result, row, column))
                table->cells[(size_t)row * table->columns + (size_t)column] =
                    base_strdup(PQgetvalue(result, row, column));
    }
    return table;
}

static struct ledger_table *query(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                                  struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return NULL;
    bool sent = pg_add(ledger->pg, sql, count, params, fault) && pg_send(ledger->pg, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_next(ledger->pg, fault) : NULL;
    pg_finish(ledger->pg);
    return result != NULL ? copy_table(result) : NULL;
}

struct ledger_table *ledger_find_messages(struct ledger *ledger, const unsigned char *identity,
                                          const unsigned char *digest, const char *queue_id, struct fault *fault)
{
    const struct pg_param params[] = {
        pg_bytes(identity, LEDGER_HASH_SIZE), pg_bytes(digest, LEDGER_HASH_SIZE), {.data = queue_id},
    };
    return query(ledger,
                 "SELECT id, message_id, encode(digest, 'hex') AS digest, lock_key, sender, \"from\", subject, date, size,"
                 " received_at FROM @schema@.message WHERE id IN ("
                 "SELECT id FROM @schema@.message WHERE identity = $1::bytea UNION "
                 "SELECT id FROM @schema@.message WHERE digest = $2::bytea UNION "
                 "SELECT message FROM @schema@.delivery WHERE queue_id = $3::text) ORDER BY id",
                 3, params, fault);
}

struct ledger_table *ledger_deliveries(struct ledger *ledger, const char *message, struct fault *fault)
{
    const struct pg_param param = {.data = message};
    return query(ledger,
                 "SELECT recipient, queue_id, host, outcome, tries, to_char(last_at, 'YYYY-MM-DD HH24:MI:SS') AS last_at,"
                 " reason FROM @schema@.delivery WHERE message = $1 ORDER BY id",
                 1, &param, fault);
}

struct ledger_table *ledger_copies(struct ledger *ledger, const char *message, struct fault *fault)
{
    const struct pg_param param = {.data = message};
    return query(ledger,
                 "SELECT account, mailbox, role, state, CASE WHEN doubt THEN 'yes' ELSE 'no' END AS doubt, attempt,"
                 " to_char(attempt_at, 'YYYY-MM-DD HH24:MI:SS') AS attempt_at, uid, error"
                 " FROM @schema@.copy WHERE message = $1 ORDER BY id",
                 1, &param, fault);
}

struct ledger_table *ledger_parts(struct ledger *ledger, const char *message, struct fault *fault)
{
    const struct pg_param param = {.data = message};
    return query(ledger,
                 "SELECT path, type, charset, filename, size FROM @schema@.part WHERE message = $1"
                 " ORDER BY string_to_array(path, '.')::int[]",
                 1, &param, fault);
}

/* A bigint key stands in pg_locks as two halves with objsubid 1. Ours are told from other programs' by the ledger or,
 * before the first claim, by application_name. */
struct ledger_table *ledger_locks(struct ledger *ledger, struct fault *fault)
{
    return query(ledger,
                 "WITH held AS (SELECT (l.classid::bigint << 32) | l.objid::bigint AS key, l.granted, a.application_name,"
                 " a.xact_start FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid"
                 " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
                 " AND l.database = (SELECT oid FROM pg_catalog.pg_database"
                 " WHERE datname = pg_catalog.current_database())),"
                 " claims AS (SELECT m.lock_key AS key, m.message_id, c.account, c.mailbox, c.host, c.pid, c.attempt_at"
                 " FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message WHERE c.state = 'appending')"
                 " SELECT coalesce(c.key, h.key) AS key, c.message_id, c.account, c.mailbox, c.host, c.pid,"
                 " date_trunc('second', clock_timestamp() - coalesce(c.attempt_at, h.xact_start)) AS age,"
                 " CASE WHEN h.key IS NULL THEN 'free' ELSE 'held' END AS lock, h.application_name AS session"
                 " FROM claims c FULL JOIN held h ON h.key = c.key"
                 " WHERE c.key IS NOT NULL OR h.application_name LIKE 'oncedrop %' ORDER BY age DESC",
                 0, NULL, fault);
}

/* BEGIN and the try-lock; *ret: granted. The transaction stays open. */
static bool begin_try(struct ledger *ledger, int64_t key, bool *ret, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    bool sent = ledger_add_begin(ledger, PG_TIMEOUT_MS, fault) &&
                lock_add_try(ledger->pg, ledger->config->lock.method, key, fault) && pg_send(ledger->pg, fault) &&
                pg_skip(ledger->pg, LEDGER_BEGIN_STATEMENTS, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_next(ledger->pg, fault) : NULL;
    if (result != NULL)
        *ret = lock_granted(result);
    pg_finish(ledger->pg);
    return result != NULL;
}

bool ledger_check_lock(struct ledger *ledger, struct ledger *other, bool *ret, struct fault *fault)
{
    int64_t key = 0;
    bool first = false, second = true, after = false;
    if (!ledger_random(&key, fault))
        return false;
    bool known = begin_try(ledger, key, &first, fault) && begin_try(other, key, &second, fault);
    ledger_rollback(other);
    ledger_rollback(ledger);
    known = known && begin_try(other, key, &after, fault);
    ledger_rollback(other);
    if (!known)
        return false;
    *ret = first && !second && after;
    if (!first)
        fault_set(fault, "the lock is not granted although it is free");
    else if (second)
        fault_set(fault, "two sessions hold one lock: this database or pooler does not exclude");
    else if (!after)
        fault_set(fault, "the lock is not released when its transaction ends");
    return true;
}

bool ledger_check_rights(struct ledger *ledger, struct fault *fault)
{
    struct ledger_table *table =
        query(ledger,
              "SELECT string_agg(t || ': ' || p, ', ') FROM (VALUES ('message', 'INSERT'), ('message', 'SELECT'),"
              " ('address', 'INSERT'), ('part', 'INSERT'), ('raw', 'INSERT'), ('delivery', 'INSERT'),"
              " ('delivery', 'UPDATE'), ('copy', 'INSERT'), ('copy', 'UPDATE'), ('copy', 'SELECT')) AS w(t, p)"
              " WHERE NOT pg_catalog.has_table_privilege('@schema@.' || t, p)",
              0, NULL, fault);
    bool all = table != NULL && ledger_cell(table, 0, 0)[0] == '\0';
    if (table != NULL && !all)
        fault_set(fault, "missing rights: %s", ledger_cell(table, 0, 0));
    ledger_table_free(&table);
    return all;
}

char *ledger_server_version(struct ledger *ledger, int64_t *ret_max_connections, struct fault *fault)
{
    struct ledger_table *table = query(ledger,
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
