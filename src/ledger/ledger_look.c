/* SPDX-License-Identifier: ISC */
#include <glib.h>
#include <string.h>

#include "base/alias.h"
#include "ledger/ledger_lock.h"
#include "ledger/ledger_refusal.h"
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
    sql_add(ledger->sql, SQL_STEP(look_copies, LEDGER_KEY(message),
                                  .accounts = SQL_TEXTS(accounts, message->target_count), LEDGER_CLOCKS(ledger)));
}

static void add_variant_query(struct ledger *ledger, const struct ledger_message *message)
{
    size_t target = sent_target(message);
    if (target == LEDGER_NO_TARGET)
        return;
    const struct ledger_target *sent = &message->targets[target];
    sql_add(ledger->sql, SQL_STEP(look_variants, LEDGER_KEY(message), .account = SQL_TEXT(sent->account),
                                  .mailbox = SQL_TEXT(sent->mailbox), LEDGER_HOLD_OFF(ledger), LEDGER_CLOCKS(ledger)));
}

static bool send_look(struct ledger *ledger, const struct ledger_message *message, int64_t wait_ms, struct marks *ret,
                      struct fault *fault)
{
    sql_set_timeout(ledger->sql, SQL_TIMEOUT_MS + wait_ms);
    ledger_add_begin_look(ledger, ledger_leases(ledger) ? LEASE_WAIT_MS : SQL_TIMEOUT_MS);
    ret->lock = sql_mark(ledger->sql);
    ledger_add_acquire(ledger, ledger->lock_key, wait_ms);
    sql_add(ledger->sql, SQL_STEP(look_message, LEDGER_KEY(message)));
    add_variant_query(ledger, message);
    ret->copies = sql_mark(ledger->sql);
    if (ledger->knew)
        add_copies_query(ledger, message);
    ret->refusals = sql_mark(ledger->sql);
    (void)!ledger_add_refusals(ledger, message);
    ret->end = sql_mark(ledger->sql);
    ledger_add_end(ledger);
    return sql_send(ledger->sql, fault);
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
    *ret_ahead |= ms < 0 && ledger_state(sql_text(rows, row, LOOK_COPIES_STATE)) != COPY_STORED;
    return ms > 0 ? ms : 0;
}

static void take_beside(const struct sql_rows *rows, size_t row, struct ledger_found_copy *copy, bool *ret_ahead)
{
    int64_t ms = MAX(claim_age(rows, row, LOOK_COPIES_ATTEMPT_AGE_MS, ret_ahead), 1);
    copy->beside = true;
    if (ledger_state(sql_text(rows, row, LOOK_COPIES_STATE)) == COPY_APPENDING &&
        (copy->beside_age_ms == 0 || ms < copy->beside_age_ms))
        copy->beside_age_ms = ms;
}

static void take_copy(const struct ledger_message *message, const struct sql_rows *rows, size_t row,
                      struct ledger_found *found)
{
    bool inbox = strcmp(sql_text(rows, row, LOOK_COPIES_ROLE), "inbox") == 0;
    for (size_t i = 0; i < message->target_count; i++) {
        if (strcmp(message->targets[i].account, sql_text(rows, row, LOOK_COPIES_ACCOUNT)) != 0)
            continue;
        if (strcmp(message->targets[i].mailbox, sql_text(rows, row, LOOK_COPIES_MAILBOX)) != 0) {
            bool alias = alias_possible(message->targets[i].mailbox, sql_text(rows, row, LOOK_COPIES_MAILBOX));
            found->copies[i].alias |= alias;
            if (alias || (inbox && message->targets[i].role == COPY_INBOX))
                take_beside(rows, row, &found->copies[i], &found->ahead);
            continue;
        }
        found->copies[i] = (struct ledger_found_copy){
            .state = ledger_state(sql_text(rows, row, LOOK_COPIES_STATE)),
            .doubt = sql_truth(rows, row, LOOK_COPIES_DOUBT),
            .attempt = sql_number(rows, row, LOOK_COPIES_ATTEMPT),
            .attempt_age_ms = claim_age(rows, row, LOOK_COPIES_ATTEMPT_AGE_MS, &found->ahead),
            .first_age_ms = claim_age(rows, row, LOOK_COPIES_FIRST_AGE_MS, &found->ahead),
            .owner = find_recipient(message, sql_text(rows, row, LOOK_COPIES_OWNER)),
            .owner_finished = sql_truth(rows, row, LOOK_COPIES_OWNER_FINISHED),
            .told = sql_truth(rows, row, LOOK_COPIES_TOLD),
            .beside = found->copies[i].beside,
            .alias = found->copies[i].alias,
            .beside_age_ms = found->copies[i].beside_age_ms,
            .elsewhere = found->copies[i].elsewhere,
            .elsewhere_under_way = found->copies[i].elsewhere_under_way,
            .variant_waits = found->copies[i].variant_waits,
            .uidvalidity = sql_number(rows, row, LOOK_COPIES_UIDVALIDITY),
            .uid = sql_number(rows, row, LOOK_COPIES_UID),
            .refusal = found->copies[i].refusal,
        };
    }
}

static void take_variants(const struct sql_rows *rows, struct ledger_found *found, struct ledger_found_copy *copy)
{
    for (size_t i = 0; i < rows->count; i++) {
        bool waits = sql_truth(rows, i, LOOK_VARIANTS_WAITS);
        found->ahead |= sql_truth(rows, i, LOOK_VARIANTS_AHEAD);
        copy->elsewhere_under_way |= sql_truth(rows, i, LOOK_VARIANTS_UNDER_WAY);
        copy->variant_waits |= waits;
        copy->elsewhere |= !waits;
    }
}

static struct ledger_found *take_found(struct ledger *ledger, const struct ledger_message *message, size_t mark,
                                       struct fault *fault)
{
    size_t count = message->target_count, sent = sent_target(message);
    struct sql_rows *row OD_CLEANUP(sql_rows_free) = sql_take(ledger->sql, mark, fault);
    struct sql_rows *variant OD_CLEANUP(sql_rows_free) =
        row != NULL && sent != LEDGER_NO_TARGET ? sql_take(ledger->sql, mark + 1, fault) : NULL;
    if (row == NULL || (sent != LEDGER_NO_TARGET && variant == NULL) ||
        !ledger_agrees(ledger, row->count == 1 ? sql_text(row, 0, LOOK_MESSAGE_METHOD) : NULL, fault))
        return NULL;
    struct ledger_found *found = base_alloc(sizeof(*found) + count * sizeof(found->copies[0]));
    found->known = !sql_is_none(row, 0, LOOK_MESSAGE_RECEIVED_AT);
    found->received_at = found->known ? sql_number(row, 0, LOOK_MESSAGE_RECEIVED_AT) : message->received_at;
    for (size_t i = 0; i < count; i++)
        found->copies[i].owner = LEDGER_OTHER;
    if (sent != LEDGER_NO_TARGET)
        take_variants(variant, found, &found->copies[sent]);
    return found;
}

static bool take_copies(struct ledger *ledger, const struct ledger_message *message, size_t mark,
                        struct ledger_found *found, struct fault *fault)
{
    struct sql_rows *copies OD_CLEANUP(sql_rows_free) = sql_take(ledger->sql, mark, fault);
    for (size_t i = 0; copies != NULL && i < copies->count; i++)
        take_copy(message, copies, i, found);
    return copies != NULL;
}

static bool take_refusals(struct ledger *ledger, const struct ledger_message *message, const struct marks *marks,
                          struct ledger_found *found, struct fault *fault)
{
    if (marks->refusals == marks->end)
        return true;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_take(ledger->sql, marks->refusals, fault);
    if (rows != NULL)
        ledger_take_refusals(message, rows, found);
    return rows != NULL;
}

/* Reads the copies of a known message. In the first batch, the join would cost a tenth of a first delivery's time in
 * the database. After a known message, as in a replay, that batch has it: a round trip less. */
static bool read_copies(struct ledger *ledger, const struct ledger_message *message, struct ledger_found *found,
                        struct fault *fault)
{
    if (ledger_leases(ledger)) /* otherwise the transaction has it */
        ledger_add_path(ledger);
    size_t mark = sql_mark(ledger->sql);
    add_copies_query(ledger, message);
    return sql_send(ledger->sql, fault) && take_copies(ledger, message, mark, found, fault);
}

static bool end_batch(struct ledger *ledger, bool good, struct fault *fault)
{
    if (sql_finish(ledger->sql) || !good)
        return good;
    return fault_set(fault, "database: connection lost");
}

static struct ledger_found *read_found(struct ledger *ledger, const struct ledger_message *message,
                                       const struct marks *marks, struct fault *fault)
{
    struct ledger_found *found = take_found(ledger, message, marks->lock + 1, fault);
    bool asked = ledger->knew;
    bool good = found != NULL && (!asked || take_copies(ledger, message, marks->copies, found, fault)) &&
                take_refusals(ledger, message, marks, found, fault) && ledger_ended(ledger, marks->end, fault);
    good = end_batch(ledger, good, fault) && found != NULL;
    if (good && found->known && !asked)
        good = end_batch(ledger, read_copies(ledger, message, found, fault), fault);
    ledger->knew = good && found->known;
    if (!good)
        base_free(&found);
    return found;
}

/* Tries the lock once. Later statements of the batch see the state under the lock; without it they are ignored. After
 * LEDGER_BUSY the caller must end the transaction. */
static enum ledger_result try_look(struct ledger *ledger, const struct ledger_message *message, int64_t wait_ms,
                                   struct ledger_found **ret, struct fault *fault)
{
    struct marks marks;
    if (!ledger_connect(ledger, fault))
        return LEDGER_TROUBLE;
    bool sent = send_look(ledger, message, wait_ms, &marks, fault);
    struct sql_rows *settings OD_CLEANUP(sql_rows_free) = sent ? sql_take(ledger->sql, marks.lock - 1, fault) : NULL;
    struct sql_rows *lock OD_CLEANUP(sql_rows_free) = settings != NULL ? sql_take(ledger->sql, marks.lock, fault)
                                                                       : NULL;
    if (lock != NULL && !lock_granted(lock)) {
        sql_finish(ledger->sql);
        return LEDGER_BUSY;
    }
    ledger->leased = sent && ledger_leases(ledger); /* possibly */
    struct ledger_found *found = lock != NULL ? read_found(ledger, message, &marks, fault) : NULL;
    if (found != NULL) {
        ledger_note_lock(ledger, true);
        *ret = found;
        return LEDGER_OK;
    }
    sql_finish(ledger->sql);
    bool tried = settings != NULL && lock == NULL;
    if (sent && (tried ? ledger_lock_timed_out(ledger, fault) : ledger_conflicted(ledger, fault)))
        return LEDGER_BUSY;
    ledger_add_remedy(ledger, SQL_DELIVERY, fault);
    ledger_rollback(ledger);
    return LEDGER_TROUBLE;
}

static enum ledger_result look_once(struct ledger *ledger, const struct ledger_message *message, int64_t wait_ms,
                                    struct ledger_found **ret, struct fault *fault)
{
    bool kept = ledger->sql != NULL;
    enum ledger_result result = try_look(ledger, message, wait_ms, ret, fault);
    if (result == LEDGER_TROUBLE && ledger_lost_kept(ledger, kept))
        result = try_look(ledger, message, wait_ms, ret, fault);
    return result;
}

/* Reads the state. Gives claims in the future the present time, so that their hold-off ends, and reads again: in a
 * transaction of its own, since the delivery may fail. */
static enum ledger_result look(struct ledger *ledger, const struct ledger_message *message, int64_t wait_ms,
                               struct ledger_found **ret, struct fault *fault)
{
    struct ledger_found *found = NULL;
    enum ledger_result result = look_once(ledger, message, wait_ms, &found, fault);
    if (result == LEDGER_OK && found->ahead && !message->dry_run) {
        base_free(&found);
        ledger_rollback(ledger);
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
            ledger_change(ledger, SQL_DELIVERY,
                          SQL_STEP(end_ahead, .identity = SQL_BYTES(message->identity, LEDGER_HASH_SIZE)), fault);
        result = rows != NULL ? look_once(ledger, message, wait_ms, &found, fault) : LEDGER_TROUBLE;
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

/* Returns true if another delivery just claimed one of our copies, or one that may end in the same mailbox (fallback.h,
 * alias.h): before its hold it does not have the lock. Ignores copies to skip. */
static bool just_claimed(const struct ledger *ledger, const struct ledger_message *message,
                         const struct ledger_found *found, int64_t within_ms)
{
    bool folders = ledger->config->route.detail == DETAIL_FOLDER;
    for (size_t i = 0; i < message->target_count; i++) {
        const struct ledger_found_copy *copy = &found->copies[i];
        bool concerns_us = message->targets[i].role == COPY_INBOX ||
                           (copy->owner != LEDGER_OTHER && !copy->owner_finished);
        if (concerns_us && copy->state == COPY_APPENDING && copy->attempt_age_ms < within_ms)
            return true;
        if ((folders || copy->alias) && copy->beside_age_ms > 0 && copy->beside_age_ms < within_ms)
            return true;
    }
    return false;
}

/* Ends the transaction, and adds a row that counts recipients without another record; losing it does no harm. ask: also
 * queries the lock holder. */
static void end_held(struct ledger *ledger, bool ask, size_t recipients)
{
    struct fault ignored;
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
    ledger_add_event(ledger, "held", recipients);
    sql_add(ledger->sql, SQL_STEP(commit));
    if (!sql_send(ledger->sql, &ignored))
        return;
    if (ask)
        ledger_take_holder(ledger, holder);
    ledger_finish(ledger);
}

static int64_t left_until(int64_t until)
{
    int64_t left = until - base_now_ms();
    return left > 0 ? left : 0;
}

static size_t recipients_of(const struct ledger_message *message)
{
    size_t count = 0;
    for (size_t i = 0; i < message->recipient_count; i++)
        count += message->recipients[i].account != NULL;
    return count;
}

enum ledger_result ledger_look(struct ledger *ledger, const struct ledger_message *message, struct ledger_found **ret,
                               struct fault *fault)
{
    int64_t wait = ledger->config->lock.wait;
    int64_t until = base_now_ms() + wait;
    if (!ledger_set_lock(ledger, message_lock_key(message->identity), fault))
        return LEDGER_TROUBLE;
    for (int64_t pause = POLL_FIRST_MS;; pause = pause * 2 < POLL_LONGEST_MS ? pause * 2 : POLL_LONGEST_MS) {
        struct ledger_found *found = NULL;
        enum ledger_result result = look(ledger, message, left_until(until), &found, fault);
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

void ledger_leave(struct ledger *ledger, size_t held)
{
    if (held > 0)
        end_held(ledger, false, held);
    else
        ledger_rollback(ledger);
}
