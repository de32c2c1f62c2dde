/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "ledger/ledger_internal.h"

#define ADDRESS(address_, after_) \
    SQL_STEP(find_address_messages, .address = SQL_TEXT(address_), .older_ms = SQL_NUMBER(LEDGER_PURGE_MIN_AGE_MS), \
             .after = SQL_NUMBER(after_), .max = SQL_NUMBER(LEDGER_ADDRESS_MAX))

_Static_assert(LEDGER_ADDRESS_MAX <= LEDGER_BATCH, "what is found at once is locked at once");

static bool advance(const struct sql_rows *rows, int64_t *after)
{
    if (rows->count > 0)
        *after = sql_number(rows, rows->count - 1, FIND_ADDRESS_MESSAGES_ID);
    return rows->count < LEDGER_ADDRESS_MAX;
}

bool ledger_address_next(struct ledger *ledger, const char *address, int64_t *after, int64_t *ret_ids,
                         size_t *ret_count, bool *ret_ended, struct error *error)
{
    size_t count = 0;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_OPERATOR, ADDRESS(address, *after), error);
    if (rows == NULL)
        return false;
    for (size_t row = 0; row < rows->count && count < LEDGER_ADDRESS_MAX; row++)
        if (sql_bool(rows, row, FIND_ADDRESS_MESSAGES_THEIRS))
            ret_ids[count++] = sql_number(rows, row, FIND_ADDRESS_MESSAGES_ID);
    *ret_ended = advance(rows, after);
    *ret_count = count;
    return true;
}

struct sql_rows *ledger_address_show(struct ledger *ledger, const char *section, int64_t message, struct error *error)
{
    char id[24];
    snprintf(id, sizeof(id), "%lld", (long long)message);
    if (strcmp(section, "message") == 0)
        return ledger_query(ledger, SQL_STEP(export_message, .message = SQL_NUMBER(message)), error);
    if (strcmp(section, "texts") == 0)
        return ledger_query(ledger, SQL_STEP(export_parts, .message = SQL_NUMBER(message)), error);
    return ledger_show(ledger, section, id, error);
}

bool ledger_address_has_raw(struct ledger *ledger, int64_t message, bool *ret, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_OPERATOR, SQL_STEP(export_raw, .message = SQL_NUMBER(message)), error);
    if (rows != NULL)
        *ret = sql_bool(rows, 0, EXPORT_RAW_THERE);
    return rows != NULL;
}

static void sort_out(const struct sql_rows *rows, struct ledger_forget *forget, struct ledger_candidates *old)
{
    old->count = 0;
    for (size_t row = 0; row < rows->count && old->count < LEDGER_BATCH; row++) {
        const char *old_at = sql_text(rows, row, FIND_ADDRESS_MESSAGES_OLD_AT);
        if (!sql_bool(rows, row, FIND_ADDRESS_MESSAGES_THEIRS))
            continue;
        if (sql_bool(rows, row, FIND_ADDRESS_MESSAGES_OLD)) {
            old->ids[old->count] = sql_number(rows, row, FIND_ADDRESS_MESSAGES_ID);
            old->keys[old->count++] = sql_number(rows, row, FIND_ADDRESS_MESSAGES_LOCK_KEY);
        } else if (sql_bool(rows, row, FIND_ADDRESS_MESSAGES_OPEN)) {
            forget->unfinished++;
        } else {
            forget->too_recent++;
            if (strcmp(old_at, forget->old_at) > 0)
                g_strlcpy(forget->old_at, old_at, sizeof(forget->old_at));
        }
    }
}

/* Removes those that are still old and whose lock is free. */
static bool remove_unheld(struct ledger *ledger, const struct ledger_candidates *old, int64_t *removed,
                          struct error *error)
{
    struct ledger_batch batch;
    if (!ledger_batch_lock(ledger, old, &batch, error))
        return false;
    if (!batch.open)
        return true;
    sql_add(ledger->sql, SQL_STEP(lock_counter));
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_batch_commit(ledger,
                            SQL_STEP(delete_old, .older_ms = SQL_NUMBER(LEDGER_PURGE_MIN_AGE_MS),
                                     .ids = SQL_NUMBERS(batch.ids, batch.count)),
                            error);
    if (rows != NULL)
        *removed = sql_number(rows, 0, DELETE_OLD_DELETED);
    return rows != NULL;
}

bool ledger_forget_batch(struct ledger *ledger, struct ledger_forget *forget, struct error *error)
{
    struct ledger_forget next = *forget;
    struct ledger_candidates old;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_batch_find(ledger, ADDRESS(forget->address, forget->after), error);
    if (rows == NULL)
        return false;
    sort_out(rows, &next, &old);
    next.ended = advance(rows, &next.after);
    int64_t removed = 0;
    if (forget->dry_run)
        removed = (int64_t)old.count;
    else if (!remove_unheld(ledger, &old, &removed, error))
        return false;
    next.removed += removed;
    next.busy += (int64_t)old.count - removed;
    *forget = next;
    return true;
}
