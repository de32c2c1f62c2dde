/* SPDX-License-Identifier: ISC
 *
 * Reads a batch's results; ends at an unexpected one. */
#include <string.h>

#include "mariadb/maria.h"

void maria_undo(struct sql_session *maria)
{
    struct error ignored;
    bool sent = maria_send_text(maria, "ROLLBACK", strlen("ROLLBACK"), &ignored);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sent ? maria_read(maria, true, "", &ignored) : NULL;
    maria->lost = maria->lost || rows == NULL;
}

/* The server executes nothing after a failed statement. */
static void stop_batch(struct sql_session *maria, enum maria_result_kind kind)
{
    maria->failed = true;
    maria->lost = maria->lost || !maria->ready ||
                  (kind == MARIA_RESULT_COMMIT && sql_failure(maria_failures, &maria->error) != SQL_FAILURE_CONFLICT);
    g_string_truncate(maria->released, 0);
    maria_undo(maria);
}

/* A site's statement has any number of results. Returns the first. */
static struct sql_rows *read_rest(struct sql_session *maria, struct sql_rows *first)
{
    struct sql_rows *own = first;
    while (own != NULL && mysql_field_count(maria->mysql) > 0) {
        struct sql_rows *next OD_CLEANUP(sql_rows_free) = maria_read(maria, false, "", &maria->error);
        if (next == NULL)
            sql_rows_free(&own);
    }
    return own;
}

static void read_result(struct sql_session *maria)
{
    const struct maria_result *reply = &g_array_index(maria->replies, struct maria_result, maria->has_result);
    bool nothing = reply->kind == MARIA_RESULT_NOTHING;
    struct sql_rows *rows = nothing ? sql_rows_new(0)
                                    : maria_read(maria, !maria->begun, reply->column_kinds, &maria->error);
    if (rows != NULL && reply->kind == MARIA_RESULT_SITE)
        rows = read_rest(maria, rows);
    if (rows != NULL && nothing)
        rows->changed = maria->changed;
    else if (rows != NULL)
        maria->changed = rows->changed;
    maria->begun = maria->begun || !nothing;
    maria->has_result++;
    if (rows != NULL && reply->kind == MARIA_RESULT_SET_UP) {
        maria->ready = maria_is_suitable(maria, rows, &maria->error);
        if (!maria->ready)
            sql_rows_free(&rows);
    }
    if (rows != NULL && reply->kind == MARIA_RESULT_GUARD)
        maria->refused = rows->count != 1 || !sql_bool(rows, 0, 0);
    if (rows == NULL) {
        stop_batch(maria, reply->kind);
    } else if (reply->kind == MARIA_RESULT_PART || reply->kind == MARIA_RESULT_SET_UP) {
        sql_rows_free(&rows);
    } else {
        g_queue_push_tail(&maria->results, rows);
    }
}

struct sql_rows *maria_next(struct sql_session *maria, struct error *error)
{
    while (g_queue_is_empty(&maria->results) && !maria->failed && maria->has_result < maria->asked)
        read_result(maria);
    struct sql_rows *rows = g_queue_pop_head(&maria->results);
    if (rows == NULL)
        *error = maria->error;
    return rows;
}

void maria_read_all(struct sql_session *maria)
{
    while (!maria->failed && maria->has_result < maria->asked)
        read_result(maria);
    if (!maria->lost && mysql_more_results(maria->mysql)) /* results match no statements */
        maria_hang_up(maria);
}
