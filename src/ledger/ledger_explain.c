/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_MS 5000         /* longest attempt that needs no explanation */
#define PHASE_MS 1000        /* shortest phase that is named */
#define QUEUED_LONG_MS 60000 /* longest time in the queue that needs none */

enum rank { RANK_OTHERS, RANK_TRY, RANK_DOUBT, RANK_STATE, RANK_REMARK };

struct sentence {
    enum rank rank;
    int64_t at_us; /* of an attempt, since 1970 */
    int64_t id;
    char *text;
};

static void sentence_clear(gpointer sentence)
{
    base_free(&((struct sentence *)sentence)->text);
}

OD_PRINTF(5, 6)
static void say(GArray *sentences, enum rank rank, int64_t at_us, int64_t id, const char *format, ...)
{
    va_list arguments;
    struct sentence sentence = {.rank = rank, .at_us = at_us, .id = id};
    va_start(arguments, format);
    sentence.text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_array_append_val(sentences, sentence);
}

static int compare_sentences(gconstpointer a, gconstpointer b)
{
    const struct sentence *one = a, *other = b;
    int64_t one_keys[] = {one->rank, one->at_us, one->id}, other_keys[] = {other->rank, other->at_us, other->id};
    for (size_t i = 0; i < G_N_ELEMENTS(one_keys); i++)
        if (one_keys[i] != other_keys[i])
            return one_keys[i] < other_keys[i] ? -1 : 1;
    return 0;
}

static void say_others(const struct sql_rows *others, GArray *sentences)
{
    int64_t count = others->count == 1 ? sql_number(others, 0, EXPLAIN_OTHERS_COUNT) : 0;
    if (count == 0)
        return;
    char *many OD_CLEANUP(base_free) = base_printf("%" G_GINT64_FORMAT " other messages have", count);
    say(sentences, RANK_OTHERS, 0, 0,
        "%s this Message-ID and other content, %sreceived %s: content decides, so each is delivered by itself",
        count == 1 ? "another message has" : many, count == 1 ? "" : "the first ",
        sql_text(others, 0, EXPLAIN_OTHERS_FIRST_AT));
}

/* Returns true if the attempt is reported with its copy, which is being stored. */
static bool is_current(const void *context, size_t row)
{
    const struct ledger_explanation *why = context;
    const struct sql_rows *copies = why->copies;
    if (sql_bool(why->tries, row, EXPLAIN_ATTEMPTS_HAS_ENDED))
        return false;
    for (size_t i = 0; i < copies->count; i++)
        if (strcmp(sql_text(copies, i, EXPLAIN_COPIES_STATE), "appending") == 0 &&
            sql_number(copies, i, EXPLAIN_COPIES_CLAIM) == sql_number(why->tries, row, EXPLAIN_ATTEMPTS_CLAIM))
            return true;
    return false;
}

static void append_seconds(GString *text, const char *before, int64_t ms, const char *after)
{
    int64_t tenths = (ms + 50) / 100;
    g_string_append_printf(text, "%s%" G_GINT64_FORMAT ".%d s%s", before, tenths / 10, (int)(tenths % 10), after);
}

static void append_time(GString *text, const struct explain_group *group)
{
    static const char *const phases[] = {"reading ", "the lock ", "the database ", "IMAP "};
    const char *between = " (";
    if (group->ms < SLOW_MS)
        return;
    if (group->first != group->last) {
        append_seconds(text, "; up to ", group->ms, " each");
        return;
    }
    append_seconds(text, "; it took ", group->ms, "");
    for (size_t i = 0; i < G_N_ELEMENTS(phases); i++) {
        if (group->phases_ms[i] < PHASE_MS)
            continue;
        g_string_append(text, between);
        append_seconds(text, phases[i], group->phases_ms[i], "");
        between = ", ";
    }
    g_string_append(text, strcmp(between, ", ") == 0 ? ")" : "");
}

/* Returns the copy in the mailbox of this delivery; SIZE_MAX: none. */
static size_t copy_of(const struct ledger_explanation *why, size_t row)
{
    for (size_t i = 0; i < why->copies->count; i++)
        if (strcmp(sql_text(why->copies, i, EXPLAIN_COPIES_ACCOUNT),
                   sql_text(why->tries, row, EXPLAIN_ATTEMPTS_ACCOUNT)) == 0 &&
            strcmp(sql_text(why->copies, i, EXPLAIN_COPIES_MAILBOX),
                   sql_text(why->tries, row, EXPLAIN_ATTEMPTS_MAILBOX)) == 0)
            return i;
    return SIZE_MAX;
}

static void append_original(GString *text, const struct ledger_explanation *why, size_t row)
{
    size_t copy = copy_of(why, row);
    if (copy == SIZE_MAX || strcmp(sql_text(why->tries, row, EXPLAIN_ATTEMPTS_OUTCOME), "duplicate") != 0 ||
        sql_is_null(why->copies, copy, EXPLAIN_COPIES_STORED_US) ||
        sql_number(why->copies, copy, EXPLAIN_COPIES_STORED_US) >= sql_number(why->tries, row, EXPLAIN_ATTEMPTS_AT_US))
        return;
    g_string_append_printf(text, ": this content was in %s %s already, stored %s by %s",
                           sql_text(why->copies, copy, EXPLAIN_COPIES_ACCOUNT),
                           sql_text(why->copies, copy, EXPLAIN_COPIES_MAILBOX),
                           sql_text(why->copies, copy, EXPLAIN_COPIES_STORED_AT),
                           sql_text(why->copies, copy, EXPLAIN_COPIES_HOST));
}

/* Skips a message that the first attempt stored at once. */
static void say_group(const struct ledger_explanation *why, const struct explain_group *group, GArray *sentences)
{
    const struct sql_rows *tries = why->tries;
    bool stored = strcmp(sql_text(tries, group->first, EXPLAIN_ATTEMPTS_OUTCOME), "stored") == 0;
    if (group->of_delivery == 1 && stored && group->ms < SLOW_MS && group->queued_ms < QUEUED_LONG_MS)
        return;
    g_autoptr(GString) text = g_string_new(sql_text(tries, group->first, EXPLAIN_ATTEMPTS_AT));
    if (group->first != group->last)
        g_string_append_printf(text, " to %s, %zu tries", sql_text(tries, group->last, EXPLAIN_ATTEMPTS_AT),
                               group->last - group->first + 1);
    g_string_append_printf(text, " for <%s>", sql_text(tries, group->first, EXPLAIN_ATTEMPTS_RECIPIENT));
    if (!sql_is_null(tries, group->first, EXPLAIN_ATTEMPTS_QUEUE_ID))
        g_string_append_printf(text, ", queue id %s", sql_text(tries, group->first, EXPLAIN_ATTEMPTS_QUEUE_ID));
    g_string_append_printf(text, ": %s",
                           group->cut_off ? "cut off: the process died, or lost the database"
                                          : explain_group_reason(tries, group->last));
    append_original(text, why, group->first);
    append_time(text, group);
    if (group->queued_ms >= QUEUED_LONG_MS)
        g_string_append_printf(text,
                               "; Postfix had received it %" G_GINT64_FORMAT
                               " s before: earlier tries, if any, recorded nothing and are in the log only",
                               (group->queued_ms + 500) / 1000);
    say(sentences, RANK_TRY, sql_number(tries, group->first, EXPLAIN_ATTEMPTS_AT_US), 0, "%s", text->str);
}

static void say_tries(const struct ledger_explanation *why, GArray *sentences)
{
    for (size_t row = 0; row < why->tries->count;) {
        struct explain_group group = explain_group_next(why->tries, is_current, why, &row);
        if (!is_current(why, group.first))
            say_group(why, &group, sentences);
    }
}

static void say_deliveries(const struct sql_rows *rows, GArray *sentences)
{
    for (size_t i = 0; i < rows->count; i++) {
        int64_t id = sql_number(rows, i, EXPLAIN_DELIVERIES_ID);
        const char *recipient = sql_text(rows, i, EXPLAIN_DELIVERIES_RECIPIENT);
        const char *outcome = sql_text(rows, i, EXPLAIN_DELIVERIES_OUTCOME);
        const char *last_at = sql_text(rows, i, EXPLAIN_DELIVERIES_LAST_AT);
        if (strcmp(outcome, "expired") == 0)
            say(sentences, RANK_TRY, sql_number(rows, i, EXPLAIN_DELIVERIES_FINISHED_US), id,
                "%s for <%s>: expired; the last attempt was %s", sql_text(rows, i, EXPLAIN_DELIVERIES_FINISHED_AT),
                recipient, last_at);
        /* Postfix was stopped while it wrote to the pipe: what arrived has its own digest, and is not retried. */
        if (strcmp(outcome, "tempfail") == 0 && !sql_bool(rows, i, EXPLAIN_DELIVERIES_IS_FINISHED) &&
            !sql_bool(rows, i, EXPLAIN_DELIVERIES_IS_COMPLETE))
            say(sentences, RANK_REMARK, 0, id,
                "what came for <%s> may have been cut short, as when Postfix is stopped; Postfix delivers the whole"
                " message again, and with other content that is another message",
                recipient);
    }
}

/* Returns the error, or "" if an attempt's reason includes it. */
static const char *error_not_given(const struct ledger_explanation *why, size_t copy)
{
    const char *error = sql_text(why->copies, copy, EXPLAIN_COPIES_ERROR);
    for (size_t i = 0; i < why->tries->count; i++)
        if (strstr(sql_text(why->tries, i, EXPLAIN_ATTEMPTS_REASON), error) != NULL)
            return "";
    return error;
}

static bool has_ended(const struct sql_rows *tries, int64_t claim)
{
    for (size_t i = 0; i < tries->count; i++)
        if (sql_number(tries, i, EXPLAIN_ATTEMPTS_CLAIM) == claim && sql_bool(tries, i, EXPLAIN_ATTEMPTS_HAS_ENDED))
            return true;
    return false;
}

static void say_appending(const struct ledger_explanation *why, size_t row, const char *name, GArray *sentences)
{
    const struct sql_rows *rows = why->copies;
    bool is_free = sql_bool(rows, row, EXPLAIN_COPIES_IS_FREE);
    say(sentences, RANK_DOUBT, 0, sql_number(rows, row, EXPLAIN_COPIES_ID),
        "the copy in %s was claimed %s by %s[%s]%s%s%s%s searches the mailbox for it, and appends it only if it is not there",
        name, sql_text(rows, row, EXPLAIN_COPIES_CLAIMED_AT), sql_text(rows, row, EXPLAIN_COPIES_HOST),
        sql_text(rows, row, EXPLAIN_COPIES_PID),
        has_ended(why->tries, sql_number(rows, row, EXPLAIN_COPIES_CLAIM))
            ? ", which could not find out whether it was stored"
            : ", which is storing it, or has died",
        is_free ? "" : "; it is left alone until ", is_free ? "" : sql_text(rows, row, EXPLAIN_COPIES_FREE_AT),
        is_free ? "; the next try" : ", then the next try");
}

static void say_copy(const struct ledger_explanation *why, size_t row, GArray *sentences)
{
    const struct sql_rows *rows = why->copies;
    const char *state = sql_text(rows, row, EXPLAIN_COPIES_STATE), *error = error_not_given(why, row);
    const char *colon = error[0] != '\0' ? ": " : "";
    int64_t id = sql_number(rows, row, EXPLAIN_COPIES_ID), repeated = sql_number(rows, row, EXPLAIN_COPIES_REPEATED);
    char *name OD_CLEANUP(base_free) =
        base_printf("%s %s", sql_text(rows, row, EXPLAIN_COPIES_ACCOUNT), sql_text(rows, row, EXPLAIN_COPIES_MAILBOX));
    if (strcmp(state, "appending") == 0)
        say_appending(why, row, name, sentences);
    else if (sql_bool(rows, row, EXPLAIN_COPIES_DOUBT))
        say(sentences, RANK_DOUBT, 0, id,
            "the copy in %s may have been stored by an earlier try: the next one searches the mailbox first", name);
    if (strcmp(state, "pending") == 0)
        say(sentences, RANK_STATE, 0, id, "the copy in %s is not stored yet%s%s", name, colon, error);
    else if (strcmp(state, "failed") == 0)
        say(sentences, RANK_STATE, 0, id, "the copy in %s failed %s%s%s", name,
            sql_text(rows, row, EXPLAIN_COPIES_CLAIMED_AT), colon, error);
    else if (strcmp(state, "stored") == 0 && error[0] != '\0')
        say(sentences, RANK_STATE, 0, id, "the copy in %s: %s", name, error);
    else if (strcmp(state, "expired") == 0)
        say(sentences, RANK_STATE, 0, id,
            "the copy in %s is not known to be stored; it will be if the message is delivered again", name);
    char *times OD_CLEANUP(base_free) = base_printf("%" G_GINT64_FORMAT " times", repeated);
    if (repeated > 0)
        say(sentences, RANK_REMARK, 0, id,
            "the copy in %s was claimed again on purpose, by replay --force or --verify, or by restore, %s", name,
            repeated == 1 ? "once" : times);
}

GPtrArray *ledger_explain(const struct ledger_explanation *why)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(free);
    g_autoptr(GArray) sentences = g_array_new(FALSE, FALSE, sizeof(struct sentence));
    g_array_set_clear_func(sentences, sentence_clear);
    say_others(why->others, sentences);
    say_tries(why, sentences);
    say_deliveries(why->deliveries, sentences);
    for (size_t i = 0; i < why->copies->count; i++)
        say_copy(why, i, sentences);
    g_array_sort(sentences, compare_sentences);
    for (guint i = 0; i < sentences->len; i++)
        g_ptr_array_add(texts, g_steal_pointer(&g_array_index(sentences, struct sentence, i).text));
    return texts;
}
