/* SPDX-License-Identifier: ISC
 *
 * Each question is one statement, with no more in it than was asked for. */
#include "ledger/ledger_list.h"

#include <glib.h>
#include <string.h>

#include "ledger/ledger_session.h"
#include "ledger/ledger_text.h"

#define SINCE_MS "c.first_at >= pg_catalog.clock_timestamp() - $%zu::bigint * interval '1 millisecond'"
#define SINCE_TIME "c.first_at >= pg_catalog.to_timestamp(pg_catalog.ltrim($%zu::text, '@')::double precision)"
#define OF_RECIPIENT \
    "c.id IN (SELECT id FROM @schema@.copy WHERE account = $%zu UNION SELECT o.id FROM @schema@.delivery d" \
    " JOIN @schema@.copy o ON o.message = d.message AND o.account = d.account AND o.mailbox = d.mailbox" \
    " WHERE d.recipient = $%zu)"

/* Only what is asked for is in the statement, so that each question finds its index. */
static char *list_sql(const struct ledger_filter *filter, struct pg_param *params, size_t *count)
{
    GString *sql = g_string_new("SELECT"
                                " " LEDGER_TIME("c.first_at") " AS at, c.state, c.account, c.error, m.subject,"
                                " m.\"from\", m.message_id, c.mailbox, c.uid, c.role,"
                                " (SELECT string_agg(d.recipient, ', ' ORDER BY d.id) FROM @schema@.delivery d"
                                " WHERE d.message = c.message AND d.account = c.account AND d.mailbox = c.mailbox)"
                                " AS recipients, c.attempt"
                                " FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message WHERE true");
    if (filter->state != NULL && strcmp(filter->state, "unfinished") == 0) {
        g_string_append(sql, " AND c.state IN ('pending', 'appending')");
    } else if (filter->state != NULL) {
        params[(*count)++].data = filter->state;
        g_string_append_printf(sql, " AND c.state = $%zu", *count);
    }
    if (filter->since != NULL) {
        bool is_number = strspn(filter->since, "0123456789") == strlen(filter->since);
        params[(*count)++].data = filter->since;
        g_string_append_printf(sql, is_number ? " AND " SINCE_MS : " AND " SINCE_TIME, *count);
    }
    if (filter->recipient != NULL) {
        params[(*count)++].data = filter->recipient;
        g_string_append_printf(sql, " AND " OF_RECIPIENT, *count, *count);
    }
    g_string_append_printf(sql, " ORDER BY c.id DESC LIMIT %" G_GINT64_FORMAT, filter->limit);
    return g_string_free(sql, FALSE);
}

struct ledger_table *ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct fault *fault)
{
    struct pg_param params[3] = {{.data = NULL}};
    size_t count = 0;
    char *sql OD_CLEANUP(base_free) = list_sql(filter, params, &count);
    return ledger_query(ledger, sql, count, params, fault);
}

struct ledger_table *ledger_totals(struct ledger *ledger, struct fault *fault)
{
    return ledger_query(
        ledger,
        "SELECT m.messages, m.bytes, c.stored, c.pending, c.appending, c.failed, c.abandoned, d.unfinished, d.oldest_unfinished,"
        " d.duplicates FROM"
        " (SELECT count(*) AS messages, coalesce(sum(size), 0) AS bytes FROM @schema@.message) m,"
        " (SELECT count(*) FILTER (WHERE state = 'stored') AS stored, count(*) FILTER (WHERE state = 'pending') AS pending,"
        " count(*) FILTER (WHERE state = 'appending') AS appending, count(*) FILTER (WHERE state = 'failed') AS failed,"
        " count(*) FILTER (WHERE state = 'abandoned') AS abandoned"
        " FROM @schema@.copy) c,"
        " (SELECT count(*) FILTER (WHERE finished_at IS NULL) AS unfinished,"
        " coalesce(round(extract(epoch FROM clock_timestamp() - min(first_at) FILTER (WHERE finished_at IS NULL))"
        "::numeric), 0) AS oldest_unfinished, count(*) FILTER (WHERE outcome = 'duplicate') AS duplicates"
        " FROM @schema@.delivery) d",
        0, NULL, fault);
}

struct ledger_table *ledger_hours(struct ledger *ledger, int64_t hours, struct fault *fault)
{
    char number[24];
    const struct pg_param param = {.data = pg_number(hours, number)};
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
        1, &param, fault);
}
