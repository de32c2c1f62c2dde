/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

#include <glib.h>
#include <string.h>

const char *explain_group_reason(const struct sql_rows *tries, size_t row)
{
    bool none = sql_is_null(tries, row, EXPLAIN_ATTEMPTS_REASON);
    return sql_text(tries, row, none ? EXPLAIN_ATTEMPTS_OUTCOME : EXPLAIN_ATTEMPTS_REASON);
}

/* Returns true if two reasons differ in numbers only, such as a server's timing. */
static bool is_alike(const char *one, const char *other)
{
    static const char numbers[] = "0123456789.";
    for (;; one++, other++) {
        one += strspn(one, numbers);
        other += strspn(other, numbers);
        if (*one != *other || *one == '\0')
            return *one == *other;
    }
}

static bool is_same(const struct sql_rows *tries, size_t one, size_t other, size_t column)
{
    return sql_is_null(tries, one, column) == sql_is_null(tries, other, column) &&
           strcmp(sql_text(tries, one, column), sql_text(tries, other, column)) == 0;
}

static bool is_kind(const struct sql_rows *tries, size_t one, size_t other)
{
    return is_same(tries, one, other, EXPLAIN_ATTEMPTS_DELIVERY) &&
           is_same(tries, one, other, EXPLAIN_ATTEMPTS_QUEUE_ID) &&
           is_same(tries, one, other, EXPLAIN_ATTEMPTS_OUTCOME) &&
           is_alike(explain_group_reason(tries, one), explain_group_reason(tries, other));
}

static bool is_first_of_queue_id(const struct sql_rows *tries, size_t row)
{
    for (size_t i = row; i > 0 && is_same(tries, i - 1, row, EXPLAIN_ATTEMPTS_DELIVERY); i--)
        if (is_same(tries, i - 1, row, EXPLAIN_ATTEMPTS_QUEUE_ID))
            return false;
    return true;
}

static size_t tries_of_delivery(const struct sql_rows *tries, size_t row)
{
    size_t count = 0;
    for (size_t i = 0; i < tries->count; i++)
        count += is_same(tries, i, row, EXPLAIN_ATTEMPTS_DELIVERY);
    return count;
}

static void join(const struct sql_rows *tries, size_t row, struct explain_group *group)
{
    int64_t sum = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(group->phases_ms); i++) {
        int64_t ms = sql_number(tries, row, EXPLAIN_ATTEMPTS_READ_MS + i);
        sum += ms;
        group->phases_ms[i] = MAX(group->phases_ms[i], ms);
    }
    group->last = row;
    group->ms = MAX(group->ms, sum);
    group->cut_off = group->cut_off || !sql_bool(tries, row, EXPLAIN_ATTEMPTS_HAS_ENDED);
    if (!sql_is_null(tries, row, EXPLAIN_ATTEMPTS_QUEUED_MS) && is_first_of_queue_id(tries, row))
        group->queued_ms = MAX(group->queued_ms, sql_number(tries, row, EXPLAIN_ATTEMPTS_QUEUED_MS));
}

struct explain_group explain_group_next(const struct sql_rows *tries,
                                        bool (*is_current)(const void *context, size_t row), const void *context,
                                        size_t *next)
{
    size_t row = *next;
    struct explain_group group = {.first = row, .of_delivery = tries_of_delivery(tries, row), .queued_ms = -1};
    bool alone = is_current(context, row);
    do
        join(tries, row++, &group);
    while (!alone && row < tries->count && !is_current(context, row) && is_kind(tries, group.first, row));
    *next = row;
    return group;
}
