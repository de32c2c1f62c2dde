/* SPDX-License-Identifier: ISC
 *
 * A claim in one batch with the lock: a round trip less for a message that no delivery has recorded. The database decides
 * (step claim_guard) after it has granted the lock, so this is as safe as reading the state first. If it decides against
 * the claim, nothing is written. */
#include "ledger/ledger_internal.h"
#include "message/message.h"

#define RECORD_BYTES_MAX (INT64_C(256) << 10) /* of a message: more is not sent in vain */

struct marks {
    size_t lock, refusals, guard; /* refusals: equal to guard if not queried */
};

static bool send_if_new(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_state *found,
                        struct ledger_replies replies, const struct decoded *decoded, const char *server,
                        struct marks *ret)
{
    const struct ledger_message *message = claim->message;
    const char *method = lock_method_name(ledger->config->lock.method);
    ledger_add_begin(ledger, SQL_TIMEOUT_MS);
    ret->lock = sql_mark(ledger->sql);
    ledger_add_acquire(ledger, ledger->lock_key, 0);
    ret->refusals = sql_mark(ledger->sql);
    (void)!ledger_add_refusals(ledger, message);
    ret->guard = sql_mark(ledger->sql);
    sql_add(ledger->sql,
            SQL_STEP(claim_guard, .key = SQL_NUMBER(ledger->lock_key),
                     .identity = SQL_BYTES(message->identity, LEDGER_HASH_SIZE), .method = SQL_TEXT(method),
                     .server = SQL_TEXT(server), .verified_ms = SQL_NUMBER(LEDGER_SERVER_VERIFIED_MS),
                     .refused_ms = SQL_NUMBER(LEDGER_SERVER_REFUSED_MS)));
    return ledger_send_claim(ledger, claim, found, replies, decoded, &claim->error);
}

/* Returns true if the database decided for the claim. */
static bool take_guard(struct ledger *ledger, const struct ledger_message *message, const struct marks *marks,
                       struct ledger_state *found)
{
    struct error ignored;
    struct sql_rows *lock OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, marks->lock, &ignored);
    bool asked = lock != NULL && marks->refusals < marks->guard;
    struct sql_rows *refusals OD_CLEANUP(sql_rows_free) = asked ? sql_get_result(ledger->sql, marks->refusals, &ignored)
                                                                : NULL;
    struct sql_rows *guard OD_CLEANUP(sql_rows_free) =
        lock != NULL && (refusals != NULL || !asked) ? sql_get_result(ledger->sql, marks->guard, &ignored) : NULL;
    if (guard == NULL)
        return false;
    bool locked = lock_granted(lock), claims = guard->count == 1 && sql_bool(guard, 0, CLAIM_GUARD_MAY_CLAIM);
    ledger->just_tried = !locked;
    ledger->last_was_known = locked && !claims;                    /* probably */
    ledger_remember_lock(ledger, locked && ledger_leases(ledger)); /* others end with the transaction */
    if (claims && refusals != NULL)
        ledger_take_refusals(message, refusals, found);
    return claims;
}

struct ledger_claim *ledger_claim_if_new(struct ledger *ledger, const struct ledger_message *message,
                                         struct ledger_state *found, const struct ledger_copy *copies,
                                         size_t copy_count, struct ledger_replies replies,
                                         const struct decoded *decoded, const char *server)
{
    struct marks marks;
    struct error ignored;
    if (!ledger_can_claim_if_new(ledger) || ledger->last_was_known || message->size > RECORD_BYTES_MAX ||
        !ledger_set_lock(ledger, message_lock_key(message->identity), &ignored) || !ledger_connect(ledger, &ignored))
        return NULL;
    ledger_remember_lock(ledger, false);
    struct ledger_claim *claim = ledger_claim_begin(message, found, copies, copy_count);
    claim->if_new = true;
    claim->in_flight = send_if_new(ledger, claim, found, replies, decoded, server, &marks);
    claim->if_new = false;
    if (claim->in_flight && take_guard(ledger, message, &marks, found))
        return claim;
    if (claim->in_flight)
        sql_finish(ledger->sql);
    else
        sql_close(&ledger->sql);
    ledger_claim_free(&claim);
    return NULL;
}
