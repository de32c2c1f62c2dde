/* SPDX-License-Identifier: ISC
 *
 * SQLite. What is added is executed at once, in this process: nothing waits, and nothing comes late. */
#include "differential/engine.h"
#include "sqlite/lite.h"

static GHashTable *open; /* session -> whether it has ended, which its ledger does not know yet */

static void engine_add(struct sql_session *lite, const char *text)
{
    lite_add(lite, text, "", 0, NULL);
}

static void engine_add_text(struct sql_session *lite, const char *text, struct sql_value value)
{
    lite_add(lite, text, "", 1, &value);
}

static int64_t number_of(const struct sql_session *lite)
{
    if (open == NULL)
        open = g_hash_table_new(NULL, NULL);
    if (!g_hash_table_contains(open, lite))
        g_hash_table_insert(open, (void *)(uintptr_t)lite, GINT_TO_POINTER(false));
    return (int64_t)(uintptr_t)lite;
}

static bool engine_waits(const struct sql_session *lite)
{
    (void)lite;
    return false;
}

/* As if its process were gone: its transaction is rolled back, and its locks are free. */
static void engine_end(int64_t number)
{
    struct sql_session *lite = (struct sql_session *)(uintptr_t)number;
    if (open == NULL || !g_hash_table_contains(open, lite))
        return;
    if (!sqlite3_get_autocommit(lite->db))
        (void)sqlite3_exec(lite->db, "ROLLBACK", NULL, NULL, NULL);
    lite_unlock_all(lite);
    g_hash_table_insert(open, lite, GINT_TO_POINTER(true));
}

static void engine_used(struct sql_session *lite)
{
    if (open != NULL && GPOINTER_TO_INT(g_hash_table_lookup(open, lite)))
        lite->lost = true;
}

static void engine_deafen(struct sql_session *lite)
{
    g_queue_clear_full(&lite->results, sql_rows_drop);
    lite->lost = true;
    error_set(&lite->error, "the session has ended");
}

static void engine_begin(void)
{
}

static void engine_gone(const struct sql_session *lite)
{
    if (open != NULL)
        g_hash_table_remove(open, lite);
}

const struct fixture_engine fixture_engine = {
    .schema = "main",
    .read_message = "SELECT id, received_at / 1000000 FROM @schema@.message WHERE digest = $1",
    .read_copies =
        "SELECT c.account, c.mailbox, c.role, c.state, CASE WHEN c.doubt THEN 't' ELSE 'f' END,"
        " CASE WHEN c.error IS NULL THEN 'f' ELSE 't' END, c.generation, c.repeated,"
        " (oncedrop_now() - c.claimed_at) / 3600000000, (oncedrop_now() - c.first_at) / 3600000000,"
        " c.claim, d.recipient, c.uidvalidity, c.uid"
        " FROM @schema@.copy c JOIN @schema@.delivery d ON d.id = c.claimed_by WHERE c.message = $1",
    .age_copies =
        "UPDATE @schema@.copy SET claimed_at = claimed_at - $1 * 3600000000, first_at = first_at - $1 * 3600000000",
    .add_text = engine_add_text,
    .add = engine_add,
    .fails = "SELECT abs(-9223372036854775807 - 1)",
    .begin = engine_begin,
    .number_of = number_of,
    .waits = engine_waits,
    .end = engine_end,
    .deafen = engine_deafen,
    .used = engine_used,
    .gone = engine_gone,
};
