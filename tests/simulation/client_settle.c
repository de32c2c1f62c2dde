/* SPDX-License-Identifier: ISC
 *
 * As src/ledger/ledger_settle.c: settle and abandon. */
#include "client.h"

#include <stdlib.h>
#include <string.h>

#include "breakage.h"
#include "scheduler.h"

static size_t claimed(const struct ledger_claim *claim, size_t target)
{
    for (size_t i = 0; i < claim->count; i++)
        if (claim->copies[i].target == target)
            return i;
    abort();
}

static enum ledger_result settle(struct ledger *ledger, const struct ledger_claim *claim, const struct statements *it,
                                 size_t next, bool *ret_next, bool *ret_taken, struct error *error)
{
    (void)client_trouble(error, "database: connection lost");
    if (!client_connect(ledger, error))
        return LEDGER_ERROR;
    struct call call = call_begin(CALL_SETTLE);
    if (next == LEDGER_NO_TARGET)
        call_last(&call, CALL_SETTLE);
    if (call.half == 0 && (call.error == ERROR_DEATH || call.error == ERROR_DEADLINE || call.error == ERROR_STOP) &&
        !call_pass(&call, 0))
        return LEDGER_ERROR;
    if (call.half == 0)
        call.time[0] = 0;
    struct batch *batch = database_batch();
    batch->session = ledger->session;
    batch->statements = *it;
    client_set_lock(ledger, batch);
    batch->releases = next == LEDGER_NO_TARGET;
    if (next != LEDGER_NO_TARGET)
        client_add_hold(ledger, claim, next, batch);
    if (!ledger->in_transaction && ledger->owner == 0)
        client_rollback(ledger);
    ledger->in_transaction = false;
    client_set_fate(batch, &call);
    database_send(batch, call.time[0]);
    if (call.half == 1 && call.error == ERROR_DEATH)
        process_die("killed behind its settling");
    if (!client_await(batch))
        return LEDGER_ERROR;
    if (call.half == 1 && (call.error == ERROR_STOP || call.error == ERROR_DEADLINE) && !call_pass(&call, 1))
        return LEDGER_ERROR;
    client_note_loss(ledger, batch);
    if (!batch->committed)
        return LEDGER_ERROR;
    enum ledger_result result = LEDGER_OK;
    for (size_t i = 0; i < it->settled_count; i++)
        if (batch->taken[i])
            result = LEDGER_BUSY;
    memcpy(ret_taken, batch->taken, it->settled_count);
    *ret_next = next != LEDGER_NO_TARGET && batch->hold == LEDGER_OK;
    client_note_lock(ledger, batch->locked);
    return result;
}

static void tell_settling(const struct statements *it)
{
    static const char *const states[] = {"none", "pending", "appending", "stored", "failed"};
    for (size_t i = 0; i < it->settled_count; i++)
        TELL("settles %s of %s: %s%s", world_box_name(it->settled[i].place.box),
             world_account(it->settled[i].place.account), states[it->settled[i].state],
             it->settled[i].doubt ? " in doubt" : "");
}

enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim,
                                 const struct ledger_settling *settling, bool *ret_next, bool *ret_taken,
                                 struct error *error)
{
    const struct ledger_copy_result *results = settling->result;
    struct statements it = {.key = client_key(claim->message), .token = claim->token};
    *ret_next = false;
    (void)client_trouble(error, "dead");
    if (client_dead())
        return LEDGER_ERROR;
    for (size_t i = 0; i < settling->result_count; i++) {
        size_t place = claimed(claim, results[i].target);
        claim->settled[place] = true;
        it.settled[it.settled_count++] = (struct settled){
            .place = client_place(claim->message, results[i].target),
            .generation = claim->attempts[place],
            .state = (uint8_t)results[i].state,
            .doubt = results[i].doubt,
            .error = results[i].error != NULL,
            .uidvalidity = results[i].uid != 0 ? results[i].uidvalidity : 0,
            .uid = results[i].uid,
        };
    }
    client_add_replies(&it, claim->message, settling->replies);
    if (world_tells)
        tell_settling(&it);
    enum ledger_result result = settle(ledger, claim, &it, settling->next, ret_next, ret_taken, error);
    if (result == LEDGER_ERROR && !client_dead()) {
        client_close(ledger);
        TELL("settles on a new session");
        result = settle(ledger, claim, &it, LEDGER_NO_TARGET, ret_next, ret_taken, error);
        if (result == LEDGER_ERROR)
            client_close(ledger);
    }
    if (result == LEDGER_ERROR && breakage == BREAK_SETTLE_UNCHECKED) {
        memset(ret_taken, 0, settling->result_count);
        return LEDGER_OK;
    }
    return result;
}

void ledger_release(struct ledger *ledger, struct ledger_claim *claim, struct ledger_replies replies)
{
    struct error error;
    struct ledger_copy_result result[TARGETS];
    bool next, taken[TARGETS];
    size_t count = 0;
    if (client_dead())
        return;
    if (!claim->committed && breakage != BREAK_UNDO_BY_NUMBER) {
        client_rollback(ledger);
        return;
    }
    for (size_t i = 0; i < claim->count; i++)
        if (!claim->settled[i])
            result[count++] = (struct ledger_copy_result){
                .target = claim->copies[i].target,
                .state = COPY_PENDING,
                .doubt = claim->copies[i].doubt && breakage != BREAK_UNDO_CLEARS_DOUBT,
            };
    TELL("abandons its claim");
    const struct ledger_settling settling = {
        .result = result,
        .result_count = count,
        .replies = replies,
        .next = LEDGER_NO_TARGET,
    };
    if (ledger_settle(ledger, claim, &settling, &next, taken, &error) == LEDGER_ERROR)
        TELL("cannot undo it");
}
