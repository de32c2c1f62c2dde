/* SPDX-License-Identifier: ISC
 *
 * Each query is one statement. */
#include "ledger/ledger_show.h"

#include <string.h>

#include "ledger/ledger_session.h"
#include "ledger/ledger_why.h"

struct ledger_table *ledger_find_messages(struct ledger *ledger, const unsigned char *identity,
                                          const unsigned char *digest, const char *queue_id, struct fault *fault)
{
    return ledger_query(ledger,
                        "SELECT id, message_id, encode(digest, 'hex') AS digest, lock_key, sender, \"from\", subject,"
                        " " LEDGER_TIME("date") " AS date, size, in_reply_to, to_jsonb(\"references\") AS \"references\","
                        " " LEDGER_TIME("received_at") " AS received_at FROM @schema@.message WHERE id IN ("
                        "SELECT id FROM @schema@.message WHERE identity = $1::bytea UNION "
                        "SELECT id FROM @schema@.message WHERE digest = $2::bytea UNION "
                        "SELECT message FROM @schema@.delivery WHERE queue_id = $3::text UNION "
                        "SELECT d.message FROM @schema@.try t JOIN @schema@.delivery d ON d.id = t.delivery"
                        " WHERE t.queue_id = $3::text) ORDER BY id",
                        PG_PARAMS(pg_bytes(identity, LEDGER_HASH_SIZE), pg_bytes(digest, LEDGER_HASH_SIZE), LEDGER_QUEUE_ID(queue_id)), fault);
}

bool ledger_knows(struct ledger *ledger, const unsigned char *digest, bool *ret, struct fault *fault)
{
    struct ledger_table *found OD_CLEANUP(ledger_table_free) =
        ledger_query(ledger, "SELECT id FROM @schema@.message WHERE digest = $1::bytea LIMIT 1",
                     PG_PARAMS(pg_bytes(digest, LEDGER_HASH_SIZE)), fault);
    if (found != NULL)
        *ret = found->rows > 0;
    return found != NULL;
}

/* Ids with the longest common beginning are neighbours in sort order. Together with the newest, these are few enough to
 * compare one by one, however large the ledger is. */
struct ledger_table *ledger_near(struct ledger *ledger, const char *message_id, struct fault *fault)
{
    return ledger_query(
        ledger,
        "(SELECT message_id FROM @schema@.message WHERE \"left\"(message_id, 200) COLLATE \"C\" >= \"left\"($1, 200)"
        " ORDER BY \"left\"(message_id, 200) COLLATE \"C\" LIMIT 20) UNION "
        "(SELECT message_id FROM @schema@.message WHERE \"left\"(message_id, 200) COLLATE \"C\" < \"left\"($1, 200)"
        " ORDER BY \"left\"(message_id, 200) COLLATE \"C\" DESC LIMIT 20) UNION "
        "(SELECT message_id FROM (SELECT message_id FROM @schema@.message ORDER BY id DESC LIMIT 2000) AS newest"
        " WHERE message_id IS NOT NULL)",
        PG_PARAMS(PG_TEXT(message_id)), fault);
}

struct ledger_table *ledger_oldest(struct ledger *ledger, struct fault *fault)
{
    return ledger_query(ledger,
                        "SELECT " LEDGER_TIME("received_at") " AS received_at FROM @schema@.message"
                        " ORDER BY message.received_at LIMIT 1",
                        0, NULL, fault);
}

/* The sections; $1: the message. */
#define ADDRESSES \
    "SELECT role, position, \"group\", name, address FROM @schema@.address WHERE message = $1::bigint" \
    " ORDER BY array_position(ARRAY['from', 'sender', 'reply-to', 'to', 'cc', 'bcc'], role), position"
#define DELIVERIES \
    "SELECT recipient, original_recipient, account, mailbox, outcome, reason, tries, queue_id, host," \
    " " LEDGER_TIME("first_at") " AS first_at, " LEDGER_TIME("last_at") " AS last_at," \
    " " LEDGER_TIME("finished_at") " AS finished_at, whole" \
    " FROM @schema@.delivery WHERE message = $1::bigint ORDER BY id"
#define TRIES \
    "SELECT " LEDGER_TIME("t.started_at") " AS at, t.outcome, d.recipient, t.queue_id, t.reason," \
    " round(extract(epoch FROM t.started_at - t.queued_at)::numeric) AS queued," \
    " round(t.read_ms / 1000.0, 3) AS read, round(t.lock_ms / 1000.0, 3) AS lock," \
    " round(t.database_ms / 1000.0, 3) AS database, round(t.imap_ms / 1000.0, 3) AS imap," \
    " t.host, t.pid, " LEDGER_TIME("t.ended_at") " AS ended_at" \
    " FROM @schema@.try t JOIN @schema@.delivery d ON d.id = t.delivery" \
    " WHERE d.message = $1::bigint ORDER BY t.started_at, d.id, t.claim"
#define SPANS \
    "SELECT encode(t.trace_id, 'hex') AS trace_id, encode(t.span_id, 'hex') AS span_id," \
    " (extract(epoch FROM t.started_at) * 1000000000)::bigint AS start_time_unix_nano," \
    " (extract(epoch FROM t.ended_at) * 1000000000)::bigint AS end_time_unix_nano," \
    " m.message_id, t.queue_id, t.host, t.pid, d.recipient, t.outcome, t.reason, d.account, d.mailbox," \
    " c.uidvalidity, c.uid, t.read_ms, t.lock_ms, t.database_ms, t.imap_ms" \
    " FROM @schema@.try t JOIN @schema@.delivery d ON d.id = t.delivery" \
    " JOIN @schema@.message m ON m.id = d.message LEFT JOIN @schema@.copy c ON c.message = d.message" \
    " AND c.account = d.account AND c.mailbox = d.mailbox AND t.outcome IN ('stored', 'quarantined', 'duplicate')" \
    " WHERE d.message = $1::bigint AND t.span_id IS NOT NULL ORDER BY t.started_at, d.id, t.claim"
#define COPIES \
    "SELECT c.account, c.mailbox, c.role, c.state, c.doubt, c.uid, c.uidvalidity, c.attempt, c.repeated," \
    " " LEDGER_TIME("c.first_at") " AS first_at, " LEDGER_TIME("c.attempt_at") " AS attempt_at," \
    " " LEDGER_TIME("c.stored_at") " AS stored_at, c.host, c.pid, d.recipient AS claimed_by, c.error" \
    " FROM @schema@.copy c JOIN @schema@.delivery d ON d.id = c.claimed_by" \
    " WHERE c.message = $1::bigint ORDER BY c.id"
#define PARTS \
    "SELECT path, type, charset, disposition, filename, size, encode(sha256, 'hex') AS sha256" \
    " FROM @schema@.part WHERE message = $1::bigint ORDER BY string_to_array(path, '.')::int[]"

static const char *const sections[][2] = {
    {"addresses", ADDRESSES}, {"deliveries", DELIVERIES}, {"tries", TRIES},
    {"spans", SPANS},         {"copies", COPIES},         {"parts", PARTS},
};

struct ledger_table *ledger_show(struct ledger *ledger, const char *section, const char *message, struct fault *fault)
{
    size_t i = 0;
    if (strcmp(section, "why") == 0)
        return ledger_why(ledger, message, fault);
    while (i + 1 < sizeof(sections) / sizeof(sections[0]) && strcmp(sections[i][0], section) != 0)
        i++;
    return ledger_query(ledger, sections[i][1], PG_PARAMS(PG_TEXT(message)), fault);
}
