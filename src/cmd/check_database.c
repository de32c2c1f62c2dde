/* SPDX-License-Identifier: ISC */
#include "cmd/check.h"
#include "ledger/ledger_check.h"
#include "ledger/ledger_query.h"

#define WAITS_MAX_S 3600 /* as in conf/prometheus */

static bool check_version(struct ledger *ledger)
{
    struct error error;
    int version, needed = ledger_schema_needed(ledger);
    if (!ledger_schema_version(ledger, &version, &error))
        return check_item(false, "schema", "%s", error.text);
    if (version == 0)
        return check_item(false, "schema", "not installed; run: oncedrop ledger install");
    if (version < needed)
        return check_item(false, "schema", "version %d is too old; run: oncedrop ledger upgrade", version);
    if (version > needed)
        check_item(CHECK_WARNING, "schema",
                   "version %d is newer than this program, which knows %d: install the newer program here too", version,
                   needed);
    return check_item(true, "schema", "version %d", version);
}

static void check_transport(const struct ledger *ledger)
{
    bool good;
    const char *text = ledger_check_tls(ledger, &good);
    check_item(good ? CHECK_OK : CHECK_WARNING, "transport", "%s", text);
}

static void check_feeds(struct ledger *ledger, const struct config *config)
{
    struct error error;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_feed_list(ledger, &error);
    if (rows == NULL && config_feed_count(config) > 0)
        check_item(CHECK_OK, "feed", "what waits is not known: %s", error.text);
    for (size_t row = 0; rows != NULL && row < rows->count; row++) {
        const char *feed = sql_text(rows, row, LIST_FEEDS_FEED);
        bool good = sql_number(rows, row, LIST_FEEDS_DEAD) == 0 &&
                    sql_number(rows, row, LIST_FEEDS_WAITS_S) < WAITS_MAX_S;
        char *why OD_CLEANUP(base_free) =
            config_feed(config, feed) != NULL
                ? base_strdup("")
                : base_printf("; it is not in the configuration, and its rows stay until: oncedrop feed drop %s", feed);
        check_item(good && why[0] == '\0' ? CHECK_OK : CHECK_WARNING, "feed",
                   "%s: %s waiting, the oldest for %s s, and %s dead%s", feed, sql_text(rows, row, LIST_FEEDS_WAITING),
                   sql_text(rows, row, LIST_FEEDS_WAITS_S), sql_text(rows, row, LIST_FEEDS_DEAD), why);
    }
}

void check_database(struct check *check)
{
    struct error error;
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(check->cmd->config, NULL, &error);
    char *version OD_CLEANUP(base_free) = ledger != NULL ? ledger_server_version(ledger, &error) : NULL;
    if (!check_item(version != NULL, "database", "%s", version != NULL ? version : error.text))
        return;
    check->connected = true;
    if (!ledger_schema_fits(ledger, &error))
        check_item(false, "encoding", "%s", error.text);
    check_transport(ledger);
    check->fits = check_version(ledger);
    if (check->fits)
        check_feeds(ledger, check->cmd->config);
}
