/* SPDX-License-Identifier: ISC */
#include <glib.h>
#include <string.h>

#include "ledger/ledger_internal.h"

/* Appends a literal character: in brackets only ^ and the backslash are special. */
static void add_character(GString *pattern, gunichar c)
{
    gunichar cases[] = {c, g_unichar_tolower(c), g_unichar_toupper(c)};
    bool has_case = cases[1] != cases[2];
    if (!has_case && (c >= 0x80 || strchr("\\^.*+?(){}|$[", (int)c) == NULL)) {
        g_string_append_unichar(pattern, c);
    } else if (!has_case) {
        g_string_append_printf(pattern, c == '^' ? "\\%c" : c == '\\' ? "[\\%c]" : "[%c]", (int)c);
    } else {
        char *set OD_CLEANUP(base_free) = g_ucs4_to_utf8(cases, G_N_ELEMENTS(cases), NULL, NULL, NULL);
        g_string_append_printf(pattern, "[%s]", set);
    }
}

/* Returns a regular expression for the text in any case, alike in all engines: SQLite knows only ASCII's cases,
 * PostgreSQL those of a locale. A new string; NULL for NULL. */
static char *part_pattern(const char *text)
{
    if (text == NULL)
        return NULL;
    GString *pattern = g_string_new(NULL);
    for (; *text != '\0'; text = g_utf8_find_next_char(text, NULL))
        add_character(pattern, g_utf8_get_char(text));
    return g_string_free(pattern, FALSE);
}

static bool is_moment(const char *time)
{
    return time != NULL && time[0] == '@';
}

struct sql_rows *ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct error *error)
{
    bool unfinished = filter->state != NULL && strcmp(filter->state, "unfinished") == 0;
    char *subject OD_CLEANUP(base_free) = part_pattern(filter->subject);
    char *message_id OD_CLEANUP(base_free) = part_pattern(filter->message_id);
    return ledger_query(ledger,
                        SQL_STEP(list, .state = SQL_TEXT(unfinished ? NULL : filter->state),
                                 .unfinished = unfinished ? SQL_BOOL(true) : SQL_NULL,
                                 .since_ms = SQL_TEXT(is_moment(filter->since) ? NULL : filter->since),
                                 .since = SQL_TEXT(is_moment(filter->since) ? filter->since : NULL),
                                 .until_ms = SQL_TEXT(is_moment(filter->until) ? NULL : filter->until),
                                 .until = SQL_TEXT(is_moment(filter->until) ? filter->until : NULL),
                                 .mailbox = SQL_TEXT(filter->mailbox), .subject = SQL_TEXT(subject),
                                 .message_id = SQL_TEXT(message_id), .recipient = SQL_TEXT(filter->recipient),
                                 .sender = SQL_TEXT(filter->sender), .queue_id = SQL_TEXT(filter->queue_id),
                                 .delay_ms = SQL_TEXT(filter->delay), .limit = SQL_NUMBER(filter->limit)),
                        error);
}

struct sql_rows *ledger_totals(struct ledger *ledger, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(totals), error);
}

struct sql_rows *ledger_hours(struct ledger *ledger, int64_t hours, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(hours, .hours = SQL_NUMBER(hours)), error);
}

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
    sql_add(ledger->sql, SQL_STEP(path));
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

struct sql_rows *ledger_locks(struct ledger *ledger, struct error *error)
{
    static const enum sql_step steps[LOCK_METHODS] = {
        [LOCK_METHOD_ADVISORY] = SQL_STEP_locks_advisory,
        [LOCK_METHOD_ROW] = SQL_STEP_locks_row,
        [LOCK_METHOD_LEASE] = SQL_STEP_locks_lease,
        [LOCK_METHOD_SESSION] = SQL_STEP_locks_session,
    };
    return ledger_query(ledger, steps[ledger->config->lock.method],
                        SQL_VALUES(locks_lease, .claim_ms = SQL_NUMBER(ledger_hold_wait_ms(ledger->config))), error);
}

char *ledger_locks_hint(const struct ledger *ledger)
{
    return sql_with_schema(ledger->config, ledger->engine->holders_hint);
}
