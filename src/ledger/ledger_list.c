/* SPDX-License-Identifier: ISC
 *
 * Each question is one statement, restricted to what was asked for. */
#include "ledger/ledger_report.h"

#include <glib.h>
#include <string.h>

#include "ledger/ledger_session.h"

/* Conditions; $ is replaced by the parameter of the value. */
#define SINCE_MS "c.first_at >= " LEDGER_AGO("$")
#define SINCE_TIME "c.first_at >= pg_catalog.to_timestamp(pg_catalog.ltrim($::text, '@')::double precision)"
#define OF_RECIPIENT \
    "c.id IN (SELECT id FROM @schema@.copy WHERE account = $ UNION SELECT o.id FROM @schema@.delivery d" \
    " JOIN @schema@.copy o ON o.message = d.message AND o.account = d.account AND o.mailbox = d.mailbox" \
    " WHERE d.recipient = $)"
#define OF_SENDER "pg_catalog.lower($) IN (pg_catalog.lower(m.sender), pg_catalog.lower(m.\"from\"))"
#define OF_QUEUE_ID \
    "c.message IN (SELECT message FROM @schema@.delivery WHERE queue_id = $ UNION SELECT d.message FROM @schema@.try t" \
    " JOIN @schema@.delivery d ON d.id = t.delivery WHERE t.queue_id = $)"

/* From Postfix's receipt or, where that is not known, from the first attempt, until it was stored or given up, or until
 * now. What Postfix tried in vain before there was an attempt, without the lock or a database, was late all the same. */
#define DELAY \
    "(CASE WHEN c.state IN ('pending', 'appending') THEN pg_catalog.clock_timestamp()" \
    " ELSE coalesce(c.stored_at, c.attempt_at) END - r.at)"

#define LIST \
    "SELECT " LEDGER_TIME("r.at") " AS at, c.state, coalesce(t.queue_id, o.queue_id) AS queue_id, c.account," \
    " round(extract(epoch FROM " DELAY ")::numeric, 3) AS delay, c.mailbox, m.subject, m.\"from\", m.sender, m.message_id, c.uid," \
    " c.role, (SELECT string_agg(d.recipient, ', ' ORDER BY d.id) FROM @schema@.delivery d" \
    " WHERE d.message = c.message AND d.account = c.account AND d.mailbox = c.mailbox) AS recipients, c.attempt, c.error" \
    " FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message" \
    " JOIN @schema@.delivery o ON o.id = c.claimed_by" \
    " LEFT JOIN @schema@.try t ON t.delivery = c.claimed_by AND t.claim = c.claim" \
    " CROSS JOIN LATERAL (SELECT least(c.first_at, min(q.queued_at)) AS at FROM @schema@.try q" \
    " WHERE q.delivery = c.claimed_by AND q.queued_at < c.first_at - interval '1 second') r WHERE true" /* it has whole ones */

#define FILTERS 6

struct list_query {
    GString *sql;
    struct pg_param params[FILTERS];
    size_t count;
};

/* Adds nothing if the filter is not set: each statement contains only what was asked for, so that it can use an
 * index. */
static void add_condition(struct list_query *query, const char *condition, const char *value)
{
    if (value == NULL)
        return;
    query->params[query->count++].data = value;
    g_string_append(query->sql, " AND ");
    for (; *condition != '\0'; condition++)
        if (*condition == '$')
            g_string_append_printf(query->sql, "$%zu", query->count);
        else
            g_string_append_c(query->sql, *condition);
}

static void add_filters(struct list_query *query, const struct ledger_filter *filter)
{
    if (filter->state != NULL && strcmp(filter->state, "unfinished") == 0)
        g_string_append(query->sql, " AND c.state IN ('pending', 'appending')");
    else
        add_condition(query, "c.state = $", filter->state);
    bool is_number = filter->since != NULL && strspn(filter->since, "0123456789") == strlen(filter->since);
    add_condition(query, is_number ? SINCE_MS : SINCE_TIME, filter->since);
    add_condition(query, OF_RECIPIENT, filter->recipient);
    add_condition(query, OF_SENDER, filter->sender);
    add_condition(query, OF_QUEUE_ID, filter->queue_id);
    add_condition(query, DELAY " >= $::bigint * interval '1 millisecond'", filter->delay);
}

struct ledger_table *ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct fault *fault)
{
    struct list_query query = {.sql = g_string_new(LIST)};
    add_filters(&query, filter);
    g_string_append_printf(query.sql, " ORDER BY c.id DESC LIMIT %" G_GINT64_FORMAT, filter->limit);
    struct ledger_table *table = ledger_query(ledger, query.sql->str, query.count, query.params, fault);
    g_string_free(query.sql, TRUE);
    return table;
}

struct ledger_table *ledger_totals(struct ledger *ledger, struct fault *fault)
{
    return ledger_query(
        ledger,
        "WITH c AS (SELECT count(*) FILTER (WHERE state = 'pending') AS pending,"
        " count(*) FILTER (WHERE state = 'appending') AS appending, count(*) FILTER (WHERE state = 'failed') AS failed,"
        " count(*) FILTER (WHERE state = 'abandoned') AS abandoned, count(*) AS all"
        " FROM @schema@.copy WHERE state <> 'stored')"
        " SELECT t.messages + m.messages AS messages, t.bytes + m.bytes AS bytes, t.copies + n.copies - c.all AS stored,"
        " c.pending, c.appending, c.failed, c.abandoned, d.unfinished, d.oldest_unfinished, r.duplicates FROM"
        " @schema@.tally t, c,"
        " LATERAL (SELECT count(*) AS messages, coalesce(sum(size), 0) AS bytes FROM @schema@.message"
        " WHERE id > t.last_message) m,"
        " LATERAL (SELECT count(*) AS copies FROM @schema@.copy WHERE id > t.last_copy) n,"
        " (SELECT count(*) AS unfinished, coalesce(round(extract(epoch FROM clock_timestamp() - min(first_at))::numeric), 0)"
        " AS oldest_unfinished FROM @schema@.delivery WHERE finished_at IS NULL) d,"
        " (SELECT count(*) AS duplicates FROM @schema@.delivery WHERE outcome = 'duplicate') r",
        0, NULL, fault);
}

struct ledger_table *ledger_hours(struct ledger *ledger, int64_t hours, struct fault *fault)
{
    return ledger_query(
        ledger,
        "SELECT " LEDGER_TIME("hour") " AS hour, stored, bytes, retried, round(p[1]::numeric, 3) AS p50,"
        " round(p[2]::numeric, 3) AS p95, round(p[3]::numeric, 3) AS p99 FROM ("
        "SELECT date_trunc('hour', c.stored_at, 'UTC') AS hour, count(*) AS stored, sum(m.size) AS bytes,"
        " count(*) FILTER (WHERE c.attempt > 1) AS retried, percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP"
        " (ORDER BY extract(epoch FROM c.stored_at - c.first_at)) AS p"
        " FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message"
        " WHERE c.state = 'stored' AND c.role = 'inbox' AND c.first_at >= now() - $1::bigint * interval '1 hour'"
        " GROUP BY 1) AS hours ORDER BY hour",
        PG_PARAMS(PG_NUMBER(hours)), fault);
}
