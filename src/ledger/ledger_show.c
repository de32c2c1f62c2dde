/* SPDX-License-Identifier: ISC
 *
 * Each query is one statement. */
#include "ledger/ledger_report.h"

#include <string.h>

#include "ledger/ledger_session.h"

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
                        PG_PARAMS(PG_BYTES(identity, LEDGER_HASH_SIZE), PG_BYTES(digest, LEDGER_HASH_SIZE), LEDGER_QUEUE_ID(queue_id)), fault);
}

bool ledger_knows(struct ledger *ledger, const unsigned char *digest, bool *ret, struct fault *fault)
{
    struct ledger_table *found OD_CLEANUP(ledger_table_free) =
        ledger_query(ledger, "SELECT id FROM @schema@.message WHERE digest = $1::bytea LIMIT 1",
                     PG_PARAMS(PG_BYTES(digest, LEDGER_HASH_SIZE)), fault);
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

/* why: a message's story in sentences, its tries in the order of time, then what holds now. Each reason is given once. */
#define SLOW_MS "5000" /* what a try takes without anybody asking why */
#define LATE_S "60"    /* the same, from Postfix's receipt to the first try */

#define SECONDS(ms) "round(" ms " / 1000.0, 1) || ' s'"

/* Those that took a second. */
#define PHASES \
    "concat_ws(', ', CASE WHEN max(read_ms) >= 1000 THEN 'reading ' || " SECONDS("max(read_ms)") " END," \
    " CASE WHEN max(lock_ms) >= 1000 THEN 'the lock ' || " SECONDS("max(lock_ms)") " END," \
    " CASE WHEN max(database_ms) >= 1000 THEN 'the database ' || " SECONDS("max(database_ms)") " END," \
    " CASE WHEN max(imap_ms) >= 1000 THEN 'IMAP ' || " SECONDS("max(imap_ms)") " END)"

/* c: the copies. t: the tries, each of a kind: one that is still open because its copy is being stored is told with that
 * copy. g: tries of one kind without another between them; numbers in a reason, such as a server's timing, make no kind. */
#define WITH_TRIES \
    "WITH m AS (SELECT * FROM @schema@.message WHERE id = $1::bigint)," \
    " c AS (SELECT c.*, account || ' ' || mailbox AS name, c.attempt_at + $2::bigint * interval '1 millisecond' AS free_at" \
    " FROM @schema@.copy c JOIN m ON c.message = m.id)," \
    " t AS (SELECT t.*, d.recipient, d.account, d.mailbox," \
    " t.ended_at IS NULL AND t.claim IN (SELECT claim FROM c WHERE state = 'appending') AS current," \
    " regexp_replace(coalesce(t.reason, t.outcome), '[0-9.]+', '', 'g') AS kind," \
    " row_number() OVER (PARTITION BY t.delivery ORDER BY t.started_at, t.claim) AS number," \
    " row_number() OVER (PARTITION BY t.delivery, t.queue_id ORDER BY t.started_at, t.claim) AS of_queue_id," \
    " count(*) OVER (PARTITION BY t.delivery) AS tries" \
    " FROM @schema@.try t JOIN @schema@.delivery d ON d.id = t.delivery WHERE d.message = $1::bigint)," \
    " g AS (SELECT recipient, account, mailbox, queue_id, outcome, count(*) AS count, max(tries) AS tries," \
    " min(started_at) AS first_at, max(started_at) AS last_at, bool_or(ended_at IS NULL) AS open," \
    " (array_agg(reason ORDER BY number DESC))[1] AS reason," \
    " max(extract(epoch FROM started_at - queued_at)) FILTER (WHERE of_queue_id = 1) AS queued," \
    " max(read_ms + lock_ms + database_ms + imap_ms) AS ms, " PHASES \
    " AS phases" \
    " FROM (SELECT t.*, number - row_number() OVER (PARTITION BY delivery, queue_id, outcome, kind ORDER BY number) AS island" \
    " FROM t WHERE NOT current) AS t GROUP BY delivery, recipient, account, mailbox, queue_id, outcome, kind, island)"

/* What was stored at the first try, at once, needs no explanation. */
#define TRY_SENTENCES \
    "SELECT 1 AS rank, g.first_at AS at, 0 AS id, " LEDGER_TIME("g.first_at") \
    " || CASE WHEN g.count > 1 THEN ' to ' || " LEDGER_TIME("g.last_at") " || ', ' || g.count || ' tries' ELSE '' END" \
    " || ' for <' || g.recipient || '>' || coalesce(', queue id ' || g.queue_id, '') || ': '" \
    " || CASE WHEN g.open THEN 'cut off: the process died, or lost the database' ELSE coalesce(g.reason, g.outcome) END" \
    " || CASE WHEN g.outcome = 'duplicate' AND c.stored_at < g.first_at THEN ': this content was in ' || c.name" \
    " || ' already, stored ' || " LEDGER_TIME("c.stored_at") " || ' by ' || c.host ELSE '' END" \
    " || CASE WHEN g.ms < " SLOW_MS " THEN '' WHEN g.count > 1 THEN '; up to ' || " SECONDS("g.ms") " || ' each'" \
    " ELSE '; it took ' || " SECONDS("g.ms") " || ' (' || g.phases || ')' END" \
    " || CASE WHEN g.queued >= " LATE_S " THEN '; Postfix had received it ' || round(g.queued) || ' s before:" \
    " earlier tries, if any, recorded nothing and are in the log only' ELSE '' END AS text" \
    " FROM g LEFT JOIN c ON c.account = g.account AND c.mailbox = g.mailbox" \
    " WHERE g.tries > 1 OR g.outcome <> 'stored' OR g.ms >= " SLOW_MS " OR g.queued >= " LATE_S

/* Of deliveries from before there was a history. */
#define DELIVERY_SENTENCES \
    " UNION ALL SELECT 1, d.last_at, d.id, " LEDGER_TIME("d.last_at") " || ' for <' || d.recipient || '>: '" \
    " || coalesce(d.reason, d.outcome) FROM @schema@.delivery d WHERE d.message = $1::bigint AND d.outcome <> 'stored'" \
    " AND NOT EXISTS (SELECT FROM @schema@.try t WHERE t.delivery = d.id)" \
    " UNION ALL SELECT 1, d.finished_at, d.id, " LEDGER_TIME("d.finished_at") " || ' for <' || d.recipient" \
    " || '>: abandoned; the last try was ' || " LEDGER_TIME("d.last_at") \
    " FROM @schema@.delivery d WHERE d.message = $1::bigint AND d.outcome = 'abandoned'"

/* A copy's error is its last try's reason, unless that try said more of something else. */
#define ERROR_NOT_GIVEN "NOT EXISTS (SELECT FROM t WHERE pg_catalog.strpos(t.reason, c.error) > 0)"

#define COPY_SENTENCES \
    " UNION ALL SELECT 2, NULL, c.id, 'the copy in ' || name || ' was claimed ' || " LEDGER_TIME("attempt_at") \
    " || ' by ' || host || '[' || pid || ']'" \
    " || CASE WHEN EXISTS (SELECT FROM t WHERE t.claim = c.claim AND t.ended_at IS NOT NULL)" \
    " THEN ', which could not find out whether it was stored' ELSE ', which is storing it, or has died' END" \
    " || CASE WHEN free_at > pg_catalog.clock_timestamp() THEN '; it is left alone until ' || " LEDGER_TIME("free_at") \
    " || ', then the next try' ELSE '; the next try' END" \
    " || ' searches the mailbox for it, and appends it only if it is not there' FROM c WHERE state = 'appending'" \
    " UNION ALL SELECT 2, NULL, c.id, 'the copy in ' || name || ' may have been stored by an earlier try: the next one" \
    " searches the mailbox first' FROM c WHERE doubt AND state <> 'appending'" \
    " UNION ALL SELECT 3, NULL, c.id, 'the copy in ' || name || ' is not stored yet'" \
    " || CASE WHEN " ERROR_NOT_GIVEN " THEN coalesce(': ' || error, '') ELSE '' END FROM c WHERE state = 'pending'" \
    " UNION ALL SELECT 3, NULL, c.id, 'the copy in ' || name || ' was given up ' || " LEDGER_TIME("attempt_at") \
    " || CASE WHEN " ERROR_NOT_GIVEN " THEN coalesce(': ' || error, '') ELSE '' END FROM c WHERE state = 'failed'" \
    " UNION ALL SELECT 3, NULL, c.id, 'the copy in ' || name || ': ' || error FROM c WHERE state = 'stored'" \
    " AND error IS NOT NULL AND " ERROR_NOT_GIVEN \
    " UNION ALL SELECT 3, NULL, c.id, 'the copy in ' || name || ' is not known to be stored; it will be if the message" \
    " is delivered again' FROM c WHERE state = 'abandoned'" \
    " UNION ALL SELECT 4, NULL, c.id, 'the copy in ' || name || ' was claimed again on purpose, by replay --force or" \
    " --verify, ' || CASE repeated WHEN 1 THEN 'once' ELSE repeated || ' times' END FROM c WHERE repeated > 0"

/* Postfix was stopped while it wrote to the pipe: what came has a digest of its own, and nothing will ever retry it. */
#define CUT_SENTENCES \
    " UNION ALL SELECT 4, NULL, d.id, 'what came for <' || d.recipient || '> may have been cut short, as when Postfix is" \
    " stopped; Postfix delivers the whole message again, and with other content that is another message'" \
    " FROM @schema@.delivery d WHERE d.message = $1::bigint AND d.finished_at IS NULL AND NOT d.whole" \
    " AND d.outcome = 'trouble'"

#define OTHERS \
    " UNION ALL SELECT 0, NULL, 0, CASE count(*) WHEN 1 THEN 'another message has' ELSE count(*) || ' other messages have' END" \
    " || ' this Message-ID and other content, ' || CASE count(*) WHEN 1 THEN '' ELSE 'the first ' END || 'received '" \
    " || min(" LEDGER_TIME("o.received_at") ") || ': content decides, so each is delivered by itself'" \
    " FROM m JOIN @schema@.message o ON o.identity = m.identity AND o.id <> m.id HAVING count(*) > 0"

static struct ledger_table *why(struct ledger *ledger, const char *message, struct fault *fault)
{
    return ledger_query(ledger,
                        WITH_TRIES
                        " SELECT text FROM (" TRY_SENTENCES DELIVERY_SENTENCES COPY_SENTENCES CUT_SENTENCES OTHERS
                        ") AS sentences ORDER BY rank, at, id",
                        PG_PARAMS(PG_TEXT(message), PG_NUMBER(ledger->config->delivery.hold_off)), fault);
}

struct ledger_table *ledger_show(struct ledger *ledger, const char *section, const char *message, struct fault *fault)
{
    size_t i = 0;
    if (strcmp(section, "why") == 0)
        return why(ledger, message, fault);
    while (i + 1 < sizeof(sections) / sizeof(sections[0]) && strcmp(sections[i][0], section) != 0)
        i++;
    return ledger_query(ledger, sections[i][1], PG_PARAMS(PG_TEXT(message)), fault);
}
