/* SPDX-License-Identifier: ISC */
#include <glib.h>
#include <string.h>

#include "ledger/ledger_internal.h"
#include "message/message.h"

#define POLL_FIRST_MS 5
#define POLL_LONGEST_MS 100
#define LEASE_WAIT_MS 1000 /* for a COMMIT that takes or ends the lease */

struct marks {
    size_t lock, copies, refusals, end; /* copies, refusals: equal to the next if not queried */
};

static size_t sent_target(const struct ledger_message *message)
{
    for (size_t i = 0; i < message->target_count; i++)
        if (message->targets[i].role == COPY_SENT)
            return i;
    return LEDGER_NO_TARGET;
}

static void add_copies_query(struct ledger *ledger, const struct ledger_message *message)
{
    const char **accounts OD_CLEANUP(base_free) = base_alloc((message->target_count + 1) * sizeof(char *));
    for (size_t i = 0; i < message->target_count; i++)
        accounts[i] = message->targets[i].account;
    sql_add(ledger->sql, SQL_STEP(state_copies, LEDGER_KEY(message),
                                  .accounts = SQL_TEXTS(accounts, message->target_count), LEDGER_CLOCKS(ledger)));
}

static void add_variant_query(struct ledger *ledger, const struct ledger_message *message)
{
    size_t target = sent_target(message);
    if (target == LEDGER_NO_TARGET)
        return;
    const struct ledger_target *sent = &message->targets[target];
    sql_add(ledger->sql, SQL_STEP(state_variants, LEDGER_KEY(message), .account = SQL_TEXT(sent->account),
                                  .mailbox = SQL_TEXT(sent->mailbox), LEDGER_HOLD_OFF(ledger), LEDGER_CLOCKS(ledger)));
}

static bool send_read_state(struct ledger *ledger, const struct ledger_message *message, int64_t wait_ms,
                            struct marks *ret, struct error *error)
{
    sql_set_timeout(ledger->sql, SQL_TIMEOUT_MS + wait_ms);
    if (sql_in_transaction(ledger->sql)) /* after ledger_claim_if_new */
        sql_add(ledger->sql, SQL_STEP(rollback));
    ledger_add_begin_read(ledger, ledger_leases(ledger) ? LEASE_WAIT_MS : SQL_TIMEOUT_MS);
    ret->lock = sql_mark(ledger->sql);
    ledger_add_acquire(ledger, ledger->lock_key, wait_ms);
    sql_add(ledger->sql, SQL_STEP(state_message, LEDGER_KEY(message)));
    add_variant_query(ledger, message);
    ret->copies = sql_mark(ledger->sql);
    if (ledger->last_was_known)
        add_copies_query(ledger, message);
    ret->refusals = sql_mark(ledger->sql);
    (void)!ledger_add_refusals(ledger, message);
    ret->end = sql_mark(ledger->sql);
    ledger_add_end(ledger);
    return sql_send(ledger->sql, error);
}

static size_t find_recipient(const struct ledger_message *message, const char *address)
{
    for (size_t i = 0; i < message->recipient_count; i++)
        if (message->recipients[i].account != NULL && strcmp(message->recipients[i].address, address) == 0)
            return i;
    return LEDGER_OTHER;
}

/* Returns a claim's age. Sets *ret_ahead if it is in the future without a result. */
static int64_t claim_age(const struct sql_rows *rows, size_t row, size_t column, bool *ret_ahead)
{
    int64_t ms = sql_number(rows, row, column);
    *ret_ahead |= ms < 0 && ledger_copy_state_of_name(sql_text(rows, row, STATE_COPIES_STATE)) != COPY_STORED;
    return ms > 0 ? ms : 0;
}

static void read_sibling(const struct sql_rows *rows, size_t row, struct ledger_copy_state *copy, bool *ret_ahead)
{
    int64_t ms = MAX(claim_age(rows, row, STATE_COPIES_CLAIM_AGE_MS, ret_ahead), 1);
    copy->sibling = true;
    if (ledger_copy_state_of_name(sql_text(rows, row, STATE_COPIES_STATE)) == COPY_APPENDING &&
        (copy->sibling_age_ms == 0 || ms < copy->sibling_age_ms))
        copy->sibling_age_ms = ms;
}

static void take_copy(const struct ledger_message *message, const struct sql_rows *rows, size_t row,
                      struct ledger_state *found)
{
    bool inbox = strcmp(sql_text(rows, row, STATE_COPIES_ROLE), "inbox") == 0;
    for (size_t i = 0; i < message->target_count; i++) {
        if (strcmp(message->targets[i].account, sql_text(rows, row, STATE_COPIES_ACCOUNT)) != 0)
            continue;
        if (strcmp(message->targets[i].mailbox, sql_text(rows, row, STATE_COPIES_MAILBOX)) != 0) {
            bool same_mailbox =
                same_mailbox_possible(message->targets[i].mailbox, sql_text(rows, row, STATE_COPIES_MAILBOX));
            found->copies[i].same_mailbox |= same_mailbox;
            if (same_mailbox || (inbox && message->targets[i].role == COPY_INBOX))
                read_sibling(rows, row, &found->copies[i], &found->ahead);
            continue;
        }
        struct ledger_copy_state *copy = &found->copies[i];
        copy->state = ledger_copy_state_of_name(sql_text(rows, row, STATE_COPIES_STATE));
        copy->doubt = sql_bool(rows, row, STATE_COPIES_DOUBT);
        copy->generation = sql_number(rows, row, STATE_COPIES_GENERATION);
        copy->claim_age_ms = claim_age(rows, row, STATE_COPIES_CLAIM_AGE_MS, &found->ahead);
        copy->first_age_ms = claim_age(rows, row, STATE_COPIES_FIRST_AGE_MS, &found->ahead);
        copy->owner = find_recipient(message, sql_text(rows, row, STATE_COPIES_OWNER));
        copy->owner_finished = sql_bool(rows, row, STATE_COPIES_OWNER_FINISHED);
        copy->recorded_today = sql_bool(rows, row, STATE_COPIES_RECORDED_TODAY);
        copy->uidvalidity = sql_number(rows, row, STATE_COPIES_UIDVALIDITY);
        copy->uid = sql_number(rows, row, STATE_COPIES_UID);
    }
}

static void take_variants(const struct sql_rows *rows, struct ledger_state *found, struct ledger_copy_state *copy)
{
    for (size_t i = 0; i < rows->count; i++) {
        bool in_flight = sql_bool(rows, i, STATE_VARIANTS_UNDER_WAY);
        found->ahead |= sql_bool(rows, i, STATE_VARIANTS_AHEAD);
        copy->variant_in_flight |= in_flight;
        copy->variant_has_copy |= !in_flight;
    }
}

static struct ledger_state *take_found(struct ledger *ledger, const struct ledger_message *message, size_t mark,
                                       struct error *error)
{
    size_t sent = sent_target(message);
    struct sql_rows *row OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, mark, error);
    struct sql_rows *variant OD_CLEANUP(sql_rows_free) =
        row != NULL && sent != LEDGER_NO_TARGET ? sql_get_result(ledger->sql, mark + 1, error) : NULL;
    if (row == NULL || (sent != LEDGER_NO_TARGET && variant == NULL) ||
        !ledger_agrees(ledger, row->count == 1 ? sql_text(row, 0, STATE_MESSAGE_METHOD) : NULL, error))
        return NULL;
    struct ledger_state *found = ledger_state_new(message);
    found->known = !sql_is_null(row, 0, STATE_MESSAGE_RECEIVED_AT);
    if (found->known)
        found->received_at = sql_number(row, 0, STATE_MESSAGE_RECEIVED_AT);
    if (sent != LEDGER_NO_TARGET)
        take_variants(variant, found, &found->copies[sent]);
    return found;
}

static bool take_copies(struct ledger *ledger, const struct ledger_message *message, size_t mark,
                        struct ledger_state *found, struct error *error)
{
    struct sql_rows *copies OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, mark, error);
    for (size_t i = 0; copies != NULL && i < copies->count; i++)
        take_copy(message, copies, i, found);
    return copies != NULL;
}

static bool take_refusals(struct ledger *ledger, const struct ledger_message *message, const struct marks *marks,
                          struct ledger_state *found, struct error *error)
{
    if (marks->refusals == marks->end)
        return true;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, marks->refusals, error);
    if (rows != NULL)
        ledger_take_refusals(message, rows, found);
    return rows != NULL;
}

/* Reads the copies of a known message. In the first batch, the join would cost a tenth of a first delivery's time in
 * the database. After a known message, as in a replay, that batch has it: a round trip less. */
static bool read_copies(struct ledger *ledger, const struct ledger_message *message, struct ledger_state *found,
                        struct error *error)
{
    if (ledger_leases(ledger)) /* otherwise the transaction has it */
        sql_add(ledger->sql, SQL_STEP(path));
    size_t mark = sql_mark(ledger->sql);
    add_copies_query(ledger, message);
    return sql_send(ledger->sql, error) && take_copies(ledger, message, mark, found, error);
}

static bool end_batch(struct ledger *ledger, bool good, struct error *error)
{
    if (sql_finish(ledger->sql) || !good)
        return good;
    return error_set(error, "database: " SQL_LOST);
}

static struct ledger_state *read_found(struct ledger *ledger, const struct ledger_message *message,
                                       const struct marks *marks, struct error *error)
{
    struct ledger_state *found = take_found(ledger, message, marks->lock + 1, error);
    bool asked = ledger->last_was_known;
    bool good = found != NULL && (!asked || take_copies(ledger, message, marks->copies, found, error)) &&
                take_refusals(ledger, message, marks, found, error) && ledger_ended(ledger, marks->end, error);
    good = end_batch(ledger, good, error) && found != NULL;
    if (good && found->known && !asked)
        good = end_batch(ledger, read_copies(ledger, message, found, error), error);
    ledger->last_was_known = good && found->known;
    if (!good)
        base_free(&found);
    return found;
}

/* Tries the lock once. Later statements of the batch see the state under the lock; without it they are ignored. After
 * LEDGER_BUSY the caller must end the transaction. */
static enum ledger_result try_read_state(struct ledger *ledger, const struct ledger_message *message, int64_t wait_ms,
                                         struct ledger_state **ret, struct error *error)
{
    struct marks marks;
    if (!ledger_connect(ledger, error))
        return LEDGER_ERROR;
    bool sent = send_read_state(ledger, message, wait_ms, &marks, error);
    struct sql_rows *settings OD_CLEANUP(sql_rows_free) = sent ? sql_get_result(ledger->sql, marks.lock - 1, error)
                                                               : NULL;
    struct sql_rows *lock OD_CLEANUP(sql_rows_free) = settings != NULL ? sql_get_result(ledger->sql, marks.lock, error)
                                                                       : NULL;
    if (lock != NULL && !lock_granted(lock)) {
        sql_finish(ledger->sql);
        return LEDGER_BUSY;
    }
    ledger->leased = sent && ledger_leases(ledger); /* possibly */
    struct ledger_state *found = lock != NULL ? read_found(ledger, message, &marks, error) : NULL;
    if (found != NULL) {
        ledger_remember_lock(ledger, true);
        *ret = found;
        return LEDGER_OK;
    }
    sql_finish(ledger->sql);
    bool tried = settings != NULL && lock == NULL;
    if (sent && (tried ? ledger_lock_unavailable(ledger, error) : ledger_conflicted(ledger, error)))
        return LEDGER_BUSY;
    ledger_add_hint(ledger, SQL_DELIVERY, error);
    ledger_rollback(ledger);
    return LEDGER_ERROR;
}

static enum ledger_result read_state_once(struct ledger *ledger, const struct ledger_message *message, int64_t wait_ms,
                                          struct ledger_state **ret, struct error *error)
{
    bool kept = ledger->sql != NULL;
    enum ledger_result result = try_read_state(ledger, message, wait_ms, ret, error);
    if (result == LEDGER_ERROR && ledger_lost_reused(ledger, kept))
        result = try_read_state(ledger, message, wait_ms, ret, error);
    return result;
}

/* Reads the state. Gives claims in the future the present time, so that their hold-off ends, and reads again: in a
 * separate transaction, since the delivery may fail. */
static enum ledger_result read_current_state(struct ledger *ledger, const struct ledger_message *message,
                                             int64_t wait_ms, struct ledger_state **ret, struct error *error)
{
    struct ledger_state *found = NULL;
    bool tried = ledger->just_tried;
    ledger->just_tried = false;
    if (tried)
        return LEDGER_BUSY;
    enum ledger_result result = read_state_once(ledger, message, wait_ms, &found, error);
    if (result == LEDGER_OK && found->ahead && !message->dry_run) {
        base_free(&found);
        ledger_rollback(ledger);
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
            ledger_write(ledger, SQL_DELIVERY,
                         SQL_STEP(end_ahead, .identity = SQL_BYTES(message->identity, LEDGER_HASH_SIZE)), error);
        result = rows != NULL ? read_state_once(ledger, message, wait_ms, &found, error) : LEDGER_ERROR;
    }
    if (result == LEDGER_OK)
        *ret = found;
    return result;
}

static void pause_ms(int64_t ms)
{
    ms = ms / 2 + g_random_int_range(0, (int)ms + 1); /* jitter: 0.5 to 1.5 */
    g_usleep((gulong)ms * 1000);
}

/* Returns true if another delivery just claimed one of our copies, or one that may end in the same mailbox (fallback.c,
 * same_mailbox.c): before its hold it does not have the lock. Ignores copies to skip. */
static bool just_claimed(const struct ledger *ledger, const struct ledger_message *message,
                         const struct ledger_state *found, int64_t within_ms)
{
    bool folders = ledger->config->route.detail == DETAIL_FOLDER;
    for (size_t i = 0; i < message->target_count; i++) {
        const struct ledger_copy_state *copy = &found->copies[i];
        bool concerns_us = message->targets[i].role == COPY_INBOX ||
                           (copy->owner != LEDGER_OTHER && !copy->owner_finished);
        if (concerns_us && copy->state == COPY_APPENDING && copy->claim_age_ms < within_ms)
            return true;
        if ((folders || copy->same_mailbox) && copy->sibling_age_ms > 0 && copy->sibling_age_ms < within_ms)
            return true;
    }
    return false;
}

/* Ends the transaction, and adds a row that counts recipients without another record; losing it does no harm. ask: also
 * queries the lock holder. */
static void end_held(struct ledger *ledger, bool ask, size_t recipients)
{
    struct error ignored;
    ledger->in_transaction = false;
    if (!sql_usable(ledger->sql))
        return;
    ledger_add_rollback(ledger);
    ledger_add_begin_idle(ledger);
    ledger_add_release(ledger);
    ledger->leased = false;
    size_t holder = sql_mark(ledger->sql);
    if (ask)
        ledger_add_holder(ledger);
    ledger_add_event(ledger, "busy", recipients);
    sql_add(ledger->sql, SQL_STEP(commit));
    if (!sql_send(ledger->sql, &ignored))
        return;
    if (ask)
        ledger_take_holder(ledger, holder);
    ledger_finish(ledger);
}

static size_t recipients_of(const struct ledger_message *message)
{
    size_t count = 0;
    for (size_t i = 0; i < message->recipient_count; i++)
        count += message->recipients[i].account != NULL;
    return count;
}

enum ledger_result ledger_read_state(struct ledger *ledger, const struct ledger_message *message,
                                     struct ledger_state **ret, struct error *error)
{
    int64_t wait = ledger->config->lock.wait;
    int64_t until = base_now_ms() + wait;
    if (!ledger_set_lock(ledger, message_lock_key(message->identity), error))
        return LEDGER_ERROR;
    for (int64_t pause = POLL_FIRST_MS;; pause = pause * 2 < POLL_LONGEST_MS ? pause * 2 : POLL_LONGEST_MS) {
        struct ledger_state *found = NULL;
        int64_t left = until - base_now_ms();
        enum ledger_result result = read_current_state(ledger, message, MAX(left, 0), &found, error);
        bool again = result == LEDGER_BUSY || (result == LEDGER_OK && just_claimed(ledger, message, found, wait));
        if (!again || base_now_ms() >= until) {
            if (result == LEDGER_OK)
                *ret = found;
            if (result == LEDGER_BUSY)
                end_held(ledger, true, recipients_of(message));
            return result;
        }
        ledger_rollback(ledger);
        base_free(&found);
        pause_ms(pause);
    }
}

void ledger_unlock(struct ledger *ledger, size_t held)
{
    if (held > 0)
        end_held(ledger, false, held);
    else
        ledger_rollback(ledger);
}
