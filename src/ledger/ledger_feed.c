/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "ledger/ledger_internal.h"

#define FILL_PAGE 500 /* copies */

/* Once more on a new connection: what a command has done is to be recorded, and each step may be repeated. */
static struct sql_rows *write_row(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                                  struct error *error)
{
    struct sql_rows *rows = ledger_write(ledger, SQL_OPERATOR, step, values, error);
    return rows != NULL ? rows : ledger_write(ledger, SQL_OPERATOR, step, values, error);
}

static bool change(struct ledger *ledger, enum sql_step step, const struct sql_value *values, int64_t *ret_changed,
                   struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = write_row(ledger, step, values, error);
    if (rows != NULL)
        *ret_changed = (int64_t)rows->changed;
    return rows != NULL;
}

bool ledger_feed_take(struct ledger *ledger, const char *feed, struct ledger_feed_row *ret, struct error *error)
{
    int64_t owner;
    if (!base_random(&owner, error))
        return false;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        write_row(ledger,
                  SQL_STEP(take_row, .feed = SQL_TEXT(feed), .lease_ms = SQL_NUMBER(LEDGER_FEED_LEASE_MS),
                           .owner = SQL_NUMBER(owner)),
                  error);
    if (rows == NULL)
        return false;
    *ret = (struct ledger_feed_row){.id = rows->count > 0 ? sql_number(rows, 0, TAKE_ROW_ID) : 0, .owner = owner};
    return true;
}

void ledger_feed_wait(struct ledger *ledger, int fd)
{
    sql_wait(ledger->sql, ledger->config, fd);
}

/* Sets *ret_ours by the number of rows that a step changed. */
static bool change_ours(struct ledger *ledger, enum sql_step step, const struct sql_value *values, bool *ret_ours,
                        struct error *error)
{
    int64_t changed;
    if (!change(ledger, step, values, &changed, error))
        return false;
    *ret_ours = changed == 1;
    return true;
}

bool ledger_feed_keep(struct ledger *ledger, const struct ledger_feed_row *row, bool *ret_ours, struct error *error)
{
    return change_ours(ledger,
                       SQL_STEP(keep_row, .id = SQL_NUMBER(row->id), .lease_ms = SQL_NUMBER(LEDGER_FEED_LEASE_MS),
                                .owner = SQL_NUMBER(row->owner)),
                       ret_ours, error);
}

bool ledger_feed_finish(struct ledger *ledger, const struct ledger_feed_row *row, bool *ret_ours, struct error *error)
{
    return change_ours(ledger, SQL_STEP(finish_row, .id = SQL_NUMBER(row->id), .owner = SQL_NUMBER(row->owner)),
                       ret_ours, error);
}

bool ledger_feed_fail(struct ledger *ledger, const struct ledger_feed_row *row, int64_t wait_ms, bool dead,
                      const char *why, struct error *error)
{
    bool ignored;
    return change_ours(ledger,
                       SQL_STEP(fail_row, .id = SQL_NUMBER(row->id), .owner = SQL_NUMBER(row->owner),
                                .wait_ms = SQL_NUMBER(wait_ms), .dead = SQL_BOOL(dead), .error = SQL_TEXT(why)),
                       &ignored, error);
}

struct sql_rows *ledger_feed_read(struct ledger *ledger, int64_t id, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(read_row, .id = SQL_NUMBER(id)), error);
}

struct sql_rows *ledger_feed_list(struct ledger *ledger, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(list_feeds), error);
}

struct sql_rows *ledger_feed_rows(struct ledger *ledger, const char *feed, int64_t max, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(list_rows, .feed = SQL_TEXT(feed), .max = SQL_NUMBER(max)), error);
}

bool ledger_feed_retry(struct ledger *ledger, const char *feed, int64_t id, int64_t *ret_count, struct error *error)
{
    return change(ledger, SQL_STEP(retry_rows, .feed = SQL_TEXT(feed), .id = SQL_NUMBER_OR_NULL(id != 0, id)),
                  ret_count, error);
}

bool ledger_feed_drop(struct ledger *ledger, const char *feed, int64_t id, int64_t *ret_count, struct error *error)
{
    return change(ledger, SQL_STEP(drop_rows, .feed = SQL_TEXT(feed), .id = SQL_NUMBER_OR_NULL(id != 0, id)), ret_count,
                  error);
}

/* One row of find_copies. */
static bool takes(const struct config *feed, const struct sql_rows *rows, size_t row)
{
    const char *recipients[] = {sql_text(rows, row, FIND_COPIES_RECIPIENT), NULL};
    bool is_sent = strcmp(sql_text(rows, row, FIND_COPIES_ROLE), "sent") == 0;
    return config_feed_takes(feed, is_sent, recipients, sql_text(rows, row, FIND_COPIES_ACCOUNT),
                             sql_text(rows, row, FIND_COPIES_MAILBOX));
}

/* Gives the copies of these rows. *last: the last copy given, advanced. */
static bool give_page(struct ledger *ledger, const struct config *feed, bool again, bool dry_run,
                      const struct sql_rows *rows, int64_t *last, int64_t *count, struct error *error)
{
    for (size_t row = 0; row < rows->count; row++) {
        int64_t copy = sql_number(rows, row, FIND_COPIES_ID), changed;
        if (copy == *last || !takes(feed, rows, row))
            continue;
        if (!dry_run && !change(ledger,
                                SQL_STEP(give_stored, .feed = SQL_TEXT(feed->name), .copy = SQL_NUMBER(copy),
                                         .again = SQL_BOOL(again)),
                                &changed, error))
            return false;
        *last = copy;
        ++*count;
    }
    return true;
}

bool ledger_feed_fill(struct ledger *ledger, const struct config *feed, const char *since, bool again, bool dry_run,
                      int64_t *ret_count, struct error *error)
{
    int64_t after = 0, last = 0, count = 0;
    for (;;) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
            ledger_query(ledger,
                         SQL_STEP(find_copies, .feed = SQL_TEXT(feed->name), .since = SQL_TEXT(since),
                                  .after = SQL_NUMBER(after), .max = SQL_NUMBER(FILL_PAGE), .again = SQL_BOOL(again)),
                         error);
        if (rows == NULL || !give_page(ledger, feed, again, dry_run, rows, &last, &count, error))
            return false;
        if (rows->count == 0)
            break;
        after = sql_number(rows, rows->count - 1, FIND_COPIES_ID);
    }
    *ret_count = count;
    return true;
}
