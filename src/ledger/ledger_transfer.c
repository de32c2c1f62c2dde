/* SPDX-License-Identifier: ISC
 *
 * Reads both ledgers by the same keys, batch by batch, so that missing rows show. */

#include <inttypes.h>
#include <string.h>

#include "ledger/ledger_internal.h"

#define IDLE_MS 3600000 /* timeout of the source while writing */

/* Parameters of dump: key of the last row, number of rows; of load: the columns of dump. */
struct table {
    const char *name;
    enum sql_step dump, load;
    size_t keys; /* its first columns */
    size_t max;  /* rows of a batch; a cell may have 1 MiB */
};

static const struct table tables[LEDGER_TRANSFER_TABLES] = {
    {"message", SQL_STEP_dump_message, SQL_STEP_load_message, 1, 1000},
    {"address", SQL_STEP_dump_address, SQL_STEP_load_address, 3, 2000},
    {"part", SQL_STEP_dump_part, SQL_STEP_load_part, 2, 32},
    {"raw", SQL_STEP_dump_raw, SQL_STEP_load_raw, 2, 16},
    {"delivery", SQL_STEP_dump_delivery, SQL_STEP_load_delivery, 1, 2000},
    {"attempt", SQL_STEP_dump_attempt, SQL_STEP_load_attempt, 2, 2000},
    {"copy", SQL_STEP_dump_copy, SQL_STEP_load_copy, 1, 2000},
    {"feed", SQL_STEP_dump_feed, SQL_STEP_load_feed, 1, 2000},
    {"event", SQL_STEP_dump_event, SQL_STEP_load_event, 1, 2000},
    {"counter_bucket", SQL_STEP_dump_counter_bucket, SQL_STEP_load_counter_bucket, 3, 2000},
    {"server", SQL_STEP_dump_server, SQL_STEP_load_server, 1, 2000},
};

static struct sql_value value_of(const struct sql_rows *rows, size_t row, size_t column, char type)
{
    const struct sql_cell *cell = &rows->cells[row * rows->columns + column];
    if (cell->data == NULL)
        return SQL_NULL;
    switch (type) {
    case 'b':
        return SQL_BYTES(cell->data, cell->size);
    case 'n':
        return SQL_NUMBER(sql_number(rows, row, column));
    case 't':
        return SQL_BOOL(sql_bool(rows, row, column));
    default:
        return SQL_TEXT_CUT(cell->data, cell->size);
    }
}

/* Returns the rows after the last one of `after`; NULL: the first. */
static struct sql_rows *read_batch(struct ledger *ledger, const struct table *table, const struct sql_rows *after,
                                   struct error *error)
{
    struct sql_value values[SQL_VALUES_MAX];
    const char *types = ledger->engine->steps[table->dump].column_kinds;
    for (size_t key = 0; key < table->keys; key++)
        values[key] = after != NULL       ? value_of(after, after->count - 1, key, types[key])
                      : types[key] == 'n' ? SQL_NUMBER(INT64_MIN)
                                          : SQL_TEXT("");
    values[table->keys] = SQL_NUMBER((int64_t)table->max);
    sql_unlimit_result(ledger->sql);
    return ledger_query_here(ledger, SQL_OPERATOR, table->dump, values, error);
}

static bool same_row(const struct sql_rows *one, const struct sql_rows *other, size_t row)
{
    for (size_t i = row * one->columns; i < (row + 1) * one->columns; i++) {
        const struct sql_cell *a = &one->cells[i], *b = &other->cells[i];
        if ((a->data == NULL) != (b->data == NULL) || a->size != b->size)
            return false;
        if (a->data != NULL && memcmp(a->data, b->data, a->size) != 0)
            return false;
    }
    return true;
}

static size_t count_same(const struct sql_rows *one, const struct sql_rows *other)
{
    size_t row = 0;
    while (row < one->count && row < other->count && same_row(one, other, row))
        row++;
    return row;
}

static bool write_batch(struct ledger *target, const struct table *table, const struct sql_rows *rows, size_t from,
                        struct error *error)
{
    struct sql_value values[SQL_VALUES_MAX];
    const char *types = target->engine->steps[table->dump].column_kinds;
    ledger_add_begin(target, SQL_TIMEOUT_MS);
    for (size_t row = from; row < rows->count; row++) {
        for (size_t column = 0; column < rows->columns; column++)
            values[column] = value_of(rows, row, column, types[column]);
        sql_add(target->sql, table->load, values);
    }
    size_t commit = sql_mark(target->sql);
    sql_add(target->sql, SQL_STEP(commit));
    bool done = sql_send(target->sql, error) && sql_committed(target->sql, commit, error);
    ledger_finish(target);
    if (!done && sql_failure(target->engine->failures, error) == SQL_FAILURE_REFUSED)
        return error_set(error, "%s (only the schema's owner may write all of it: log in as for ledger install)",
                         error->text);
    if (!done)
        ledger_add_hint(target, SQL_OPERATOR, error);
    return done;
}

/* Compares a table; load: adds rows missing at the end. Fails if they differ otherwise. */
static bool go_through(struct ledger *source, struct ledger *target, const struct table *table, bool load,
                       struct ledger_transferred *ret, struct error *error)
{
    struct sql_rows *last OD_CLEANUP(sql_rows_free) = NULL;
    *ret = (struct ledger_transferred){.table = table->name};
    for (bool more = true; more;) {
        struct sql_rows *theirs OD_CLEANUP(sql_rows_free) = NULL;
        struct sql_rows *ours = read_batch(source, table, last, error);
        if (ours != NULL)
            theirs = read_batch(target, table, last, error);
        sql_rows_free(&last);
        last = ours;
        if (ours == NULL || theirs == NULL)
            return false;
        size_t same = count_same(ours, theirs);
        if (same < theirs->count || (!load && same < ours->count))
            return error_set(error, "table %s of TARGET is another one, from row %" PRId64 " on", table->name,
                             ret->rows + (int64_t)same + 1);
        if (same < ours->count && !write_batch(target, table, ours, same, error))
            return false;
        ret->rows += (int64_t)ours->count;
        ret->added += (int64_t)(ours->count - same);
        more = ours->count == table->max;
    }
    return true;
}

static bool no_delivery_runs(struct ledger *source, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_query_here(source, SQL_OPERATOR, SQL_STEP(under_way, LEDGER_HOLD_OFF(source)), error);
    if (rows == NULL || rows->count == 0)
        return rows != NULL;
    return error_set(error, "process %s on %s is delivering, or died less than delivery.hold_off ago",
                     sql_text(rows, 0, UNDER_WAY_PID), sql_text(rows, 0, UNDER_WAY_HOST));
}

/* Gives claims in the future the present time: they would seem under way. Ignores errors. */
static void end_ahead(struct ledger *source)
{
    struct error ignored;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_write(source, SQL_OPERATOR, SQL_STEP(end_ahead, .identity = SQL_NULL), &ignored);
    (void)rows;
}

bool ledger_transfer_begin(struct ledger *source, bool running, struct error *error)
{
    if (!running)
        end_ahead(source);
    if (!ledger_connect(source, error))
        return false;
    if (running)
        sql_add(source->sql, SQL_STEP(begin_snapshot));
    else {
        sql_add(source->sql, SQL_STEP(begin_hold));
        sql_add(source->sql, SQL_STEP(hold_timeout));
        sql_add(source->sql, SQL_STEP(hold_writers));
    }
    size_t mark = sql_mark(source->sql);
    sql_add(source->sql, SQL_STEP(settings, .idle_ms = SQL_NUMBER(IDLE_MS), .statement_ms = SQL_NUMBER(SQL_TIMEOUT_MS),
                                  .lock_ms = SQL_NUMBER(SQL_TIMEOUT_MS)));
    bool begun = sql_send(source->sql, error) && sql_succeeded(source->sql, mark + 1, error);
    sql_finish(source->sql);
    if (begun)
        return running || no_delivery_runs(source, error);
    if (sql_failure(source->engine->failures, error) == SQL_FAILURE_LOCK_TIMEOUT)
        return error_set(error, "the ledger is in use: %s", error->text);
    ledger_add_hint(source, SQL_OPERATOR, error);
    return false;
}

bool ledger_transfer_table(struct ledger *source, struct ledger *target, size_t table, struct ledger_transferred *ret,
                           struct error *error)
{
    struct ledger_transferred transferred;
    if (!go_through(source, target, &tables[table], true, &transferred, error))
        return false;
    *ret = transferred;
    return true;
}

/* Copies the only row of dump: its columns are the parameters of load. */
static bool transfer_row(struct ledger *source, struct ledger *target, enum sql_step dump, enum sql_step load,
                         struct error *error)
{
    struct sql_value values[SQL_VALUES_MAX];
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_query_here(source, SQL_OPERATOR, dump, NULL, error);
    if (rows == NULL)
        return false;
    for (size_t column = 0; column < rows->columns; column++)
        values[column] = value_of(rows, 0, column, 'n');
    struct sql_rows *done OD_CLEANUP(sql_rows_free) = ledger_write(target, SQL_OPERATOR, load, values, error);
    return done != NULL;
}

bool ledger_transfer_end(struct ledger *source, struct ledger *target, struct error *error)
{
    return transfer_row(source, target, SQL_STEP_dump_numbers, SQL_STEP_load_numbers, error) &&
           transfer_row(source, target, SQL_STEP_dump_counter, SQL_STEP_load_counter, error);
}

static bool compare_row(struct ledger *source, struct ledger *target, enum sql_step dump, struct error *error)
{
    struct sql_rows *theirs OD_CLEANUP(sql_rows_free) = NULL;
    struct sql_rows *ours OD_CLEANUP(sql_rows_free) = ledger_query_here(source, SQL_OPERATOR, dump, NULL, error);
    if (ours != NULL)
        theirs = ledger_query_here(target, SQL_OPERATOR, dump, NULL, error);
    if (ours == NULL || theirs == NULL)
        return false;
    return (ours->count == 1 && theirs->count == 1 && same_row(ours, theirs, 0)) ||
           error_set(error, "TARGET differs from the ledger after the copy (%s): empty it, and copy again",
                     source->engine->steps[dump].name);
}

bool ledger_transfer_compare(struct ledger *source, struct ledger *target, struct error *error)
{
    struct ledger_transferred ignored;
    for (size_t i = 0; i < LEDGER_TRANSFER_TABLES; i++)
        if (!go_through(source, target, &tables[i], false, &ignored, error))
            return false;
    return compare_row(source, target, SQL_STEP_dump_numbers, error) &&
           compare_row(source, target, SQL_STEP_dump_counter, error);
}
