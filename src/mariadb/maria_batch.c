/* SPDX-License-Identifier: ISC
 *
 * A batch: steps are collected as one text. A long text is sent early. */
#include <string.h>

#include "mariadb/maria.h"

#define FLUSH_BYTES ((size_t)256 * 1024)
#define GROUP_BYTES ((size_t)16 * 1024) /* the server copies a compound statement */

static void expect_result(struct sql_session *maria, enum maria_result_kind kind, const char *column_kinds)
{
    struct maria_result reply = {.kind = kind, .column_kinds = column_kinds};
    g_array_append_val(maria->replies, reply);
}

/* Adds the set-up, once. */
static void add_set_up(struct sql_session *maria)
{
    if (maria->set_up || maria->text->len > 0)
        return;
    char *set_up OD_CLEANUP(base_free) = maria_set_up(maria);
    g_string_append(maria->text, set_up);
    for (size_t i = 1; i < maria_statements(set_up); i++)
        expect_result(maria, MARIA_RESULT_PART, "");
    expect_result(maria, MARIA_RESULT_SET_UP, "");
}

static bool send_text(struct sql_session *maria)
{
    bool sent = maria_send_text(maria, maria->text->str, maria->text->len, &maria->error);
    g_string_truncate(maria->text, 0);
    maria->asked = maria->replies->len;
    maria->set_up = true;
    maria->begun = false;
    maria->failed = !sent;
    return sent;
}

static void flush_if_long(struct sql_session *maria)
{
    if (maria->text->len >= FLUSH_BYTES && send_text(maria))
        maria_read_all(maria);
}

static void append_statement(struct sql_session *maria, const char *text)
{
    add_set_up(maria);
    if (maria->text->len > 0)
        g_string_append(maria->text, ";\n");
    g_string_append(maria->text, text);
}

static void guard_group(struct sql_session *maria)
{
    if (!maria->guarded || maria->grouped == 0)
        return;
    g_string_prepend(maria->group, "IF @may_claim THEN\n");
    g_string_prepend(maria->group, maria->guarded_prepare->str);
    g_string_append(maria->group, ";\nEND IF");
    g_string_truncate(maria->guarded_prepare, 0);
    maria->grouped++; /* so it is a compound statement */
}

static void end_group(struct sql_session *maria)
{
    if (maria->grouped == 0)
        return;
    guard_group(maria);
    if (maria->grouped > 1) {
        g_string_prepend(maria->group, "BEGIN NOT ATOMIC\n");
        g_string_append(maria->group, ";\nEND");
    }
    append_statement(maria, maria->group->str);
    g_string_truncate(maria->group, 0);
    maria->grouped = 0;
}

void maria_add(struct sql_session *maria, const char *text, size_t statements, const char *column_kinds)
{
    if (maria->failed)
        return;
    if (strcmp(text, MARIA_NOTHING) == 0) {
        expect_result(maria, MARIA_RESULT_NOTHING, "");
        return;
    }
    end_group(maria);
    append_statement(maria, text);
    for (size_t i = 1; i < statements; i++)
        expect_result(maria, MARIA_RESULT_PART, "");
    expect_result(maria, MARIA_RESULT_STEP, column_kinds);
    flush_if_long(maria);
}

/* The first step's result is the group's. */
static void expect_of_group(struct sql_session *maria)
{
    if (maria->grouped == 0)
        maria->group_result = maria->replies->len;
    expect_result(maria, maria->grouped == 0 ? MARIA_RESULT_STEP : MARIA_RESULT_NOTHING, "");
}

void maria_add_write(struct sql_session *maria, const char *text, bool counted)
{
    if (maria->failed)
        return;
    add_set_up(maria);
    expect_of_group(maria);
    g_string_append_printf(maria->group, "%s%s", maria->grouped > 0 ? ";\n" : "", text);
    maria->grouped += maria_statements(text);
    if (counted || maria->group->len >= GROUP_BYTES)
        end_group(maria);
    flush_if_long(maria);
}

void maria_add_guard(struct sql_session *maria, const char *text, const char *column_kinds)
{
    maria_add(maria, text, maria_statements(text), column_kinds);
    if (maria->failed)
        return;
    g_array_index(maria->replies, struct maria_result, maria->replies->len - 1).kind = MARIA_RESULT_GUARD;
    maria->guarded = true;
}

void maria_add_site(struct sql_session *maria, const char *text)
{
    if (maria->failed)
        return;
    char *compound OD_CLEANUP(base_free) = base_printf("BEGIN NOT ATOMIC\n%s;\nEND", text);
    end_group(maria);
    append_statement(maria, compound);
    expect_result(maria, MARIA_RESULT_SITE, "");
    flush_if_long(maria);
}

void maria_add_released(struct sql_session *maria, const char *text)
{
    g_string_append_printf(maria->released, ";\n%s", text);
    maria_add(maria, MARIA_NOTHING, 1, "");
}

void maria_add_commit(struct sql_session *maria)
{
    if (maria->failed)
        return;
    add_set_up(maria);
    guard_group(maria);
    maria->guarded = false;
    expect_of_group(maria);
    g_array_index(maria->replies, struct maria_result, maria->group_result).kind = MARIA_RESULT_COMMIT;
    g_string_append_printf(maria->group, "%sCOMMIT%s", maria->grouped > 0 ? ";\n" : "", maria->released->str);
    maria->grouped += maria_statements(maria->released->str);
    g_string_truncate(maria->released, 0);
    end_group(maria);
}

/* maria_next reports errors. */
bool maria_send(struct sql_session *maria, struct error *error)
{
    (void)error;
    end_group(maria);
    if (maria->text->len == 0 || maria->failed)
        maria->asked = maria->replies->len;
    else
        (void)send_text(maria);
    return true;
}

/* Forgets the session's variables, settings and prepared statements. */
static void forget_session(struct sql_session *maria)
{
    g_string_truncate(maria->settings, 0);
    maria->named = false;
    maria_forget_prepared(maria);
}

bool maria_finish(struct sql_session *maria)
{
    bool unsent = maria->text->len + maria->group->len > 0;
    g_string_truncate(maria->text, 0);
    g_string_truncate(maria->group, 0);
    g_string_truncate(maria->guarded_prepare, 0);
    g_string_truncate(maria->released, 0);
    maria->grouped = 0;
    maria_read_all(maria);
    if (unsent || maria->failed) /* what was added last was not executed */
        forget_session(maria);
    g_queue_clear_full(&maria->results, sql_rows_drop);
    g_array_set_size(maria->replies, 0);
    maria->asked = maria->has_result = 0;
    maria->failed = maria->guarded = false;
    maria->named = maria->named && maria->recorded && !maria->refused;
    if (!maria->replied_it || maria->refused)
        g_string_truncate(maria->recipient, 0);
    maria->refused = false;
    maria->timeout_ms = SQL_TIMEOUT_MS;
    maria->receive_max = MARIA_RECEIVE_MAX;
    maria->received = 0;
    return !maria->lost;
}

static bool set_up_alone(struct sql_session *maria, struct error *error)
{
    add_set_up(maria);
    if (maria->text->len > 0 && send_text(maria))
        maria_read_all(maria);
    bool done = !maria->failed;
    if (!done)
        *error = maria->error;
    return maria_finish(maria) && done;
}

bool maria_script(struct sql_session *maria, const char *text, struct error *error)
{
    bool done = set_up_alone(maria, error);
    if (!done || !maria_send_text(maria, text, strlen(text), error))
        return false;
    for (bool first = true; done && (first || mysql_more_results(maria->mysql)); first = false) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = maria_read(maria, first, "", error);
        done = rows != NULL;
    }
    if (!done)
        maria_undo(maria);
    return done;
}
