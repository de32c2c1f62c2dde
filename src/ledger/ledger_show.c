/* SPDX-License-Identifier: ISC */

#include <glib.h>
#include <string.h>

#include "ledger/ledger_internal.h"

struct sql_rows *ledger_find_messages(struct ledger *ledger, const unsigned char *identity, const unsigned char *digest,
                                      const char *queue_id, struct error *error)
{
    return ledger_query(ledger,
                        SQL_STEP(find_messages, .identity = SQL_BYTES(identity, LEDGER_HASH_SIZE),
                                 .digest = SQL_BYTES(digest, LEDGER_HASH_SIZE), .queue_id = LEDGER_QUEUE_ID(queue_id)),
                        error);
}

bool ledger_knows(struct ledger *ledger, const unsigned char *digest, bool *ret, struct error *error)
{
    struct sql_rows *found OD_CLEANUP(sql_rows_free) =
        ledger_query(ledger, SQL_STEP(find_digest, .digest = SQL_BYTES(digest, LEDGER_HASH_SIZE)), error);
    if (found != NULL)
        *ret = found->count > 0;
    return found != NULL;
}

struct sql_rows *ledger_oldest(struct ledger *ledger, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(oldest), error);
}

/* Frees the sentences. */
static struct sql_rows *table_of_sentences(GPtrArray *sentences)
{
    struct sql_rows *table = ledger_table_new((const char *const[]){"text"}, 1);
    for (guint i = 0; i < sentences->len; i++)
        sql_rows_add_text(table, sentences->pdata[i]);
    g_ptr_array_unref(sentences);
    return table;
}

static void explanation_clear(struct ledger_explanation *why)
{
    sql_rows_free(&why->copies);
    sql_rows_free(&why->tries);
    sql_rows_free(&why->deliveries);
    sql_rows_free(&why->others);
}

static struct sql_rows *explain(struct ledger *ledger, const char *message, struct error *error)
{
    struct ledger_explanation why OD_CLEANUP(explanation_clear) = {.copies = NULL};
    const struct sql_value id = SQL_TEXT(message);
    if (!ledger_connect(ledger, error))
        return NULL;
    sql_add(ledger->sql, SQL_STEP(begin_snapshot));
    ledger_add_path(ledger);
    sql_add(ledger->sql, SQL_STEP(for_people));
    sql_unlimit_result(ledger->sql);
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(explain_copies, .message = id, LEDGER_HOLD_OFF(ledger)));
    sql_add(ledger->sql, SQL_STEP(explain_attempts, .message = id));
    sql_add(ledger->sql, SQL_STEP(explain_deliveries, .message = id));
    sql_add(ledger->sql, SQL_STEP(explain_others, .message = id));
    sql_add(ledger->sql, SQL_STEP(rollback));
    struct sql_rows **const results[] = {&why.copies, &why.tries, &why.deliveries, &why.others};
    bool good = sql_send(ledger->sql, error);
    for (size_t i = 0; good && i < G_N_ELEMENTS(results); i++)
        good = (*results[i] = sql_get_result(ledger->sql, mark + i, error)) != NULL;
    ledger_finish(ledger);
    if (!good)
        ledger_add_hint(ledger, SQL_OPERATOR, error);
    return good ? table_of_sentences(ledger_explain(&why)) : NULL;
}

struct sql_rows *ledger_show(struct ledger *ledger, const char *section, const char *message, struct error *error)
{
    static const struct {
        const char *name;
        enum sql_step step;
    } sections[] = {
        {"addresses", SQL_STEP_show_addresses}, {"deliveries", SQL_STEP_show_deliveries},
        {"attempts", SQL_STEP_show_attempts},   {"spans", SQL_STEP_show_spans},
        {"copies", SQL_STEP_show_copies},       {"parts", SQL_STEP_show_parts},
    };
    size_t i = 0;
    if (strcmp(section, "why") == 0)
        return explain(ledger, message, error);
    while (i + 1 < G_N_ELEMENTS(sections) && strcmp(sections[i].name, section) != 0)
        i++;
    return ledger_query(ledger, sections[i].step, SQL_VALUES(show_copies, .message = SQL_TEXT(message)), error);
}
