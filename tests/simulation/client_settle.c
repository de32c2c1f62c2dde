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
                                 size_t next, bool *ret_next, bool *ret_taken, struct fault *fault)
{
    (void)client_trouble(fault, "database: connection lost");
    if (!client_connect(ledger, fault))
        return LEDGER_TROUBLE;
    struct call call = call_begin(CALL_SETTLE);
    if (next == LEDGER_NO_TARGET)
        call_last(&call, CALL_SETTLE);
    if (call.half == 0 && (call.fault == FAULT_DEATH || call.fault == FAULT_DEADLINE || call.fault == FAULT_STOP) &&
        !call_pass(&call, 0))
        return LEDGER_TROUBLE;
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
    if (call.half == 1 && call.fault == FAULT_DEATH)
        process_die("killed behind its settling");
    if (!client_await(batch))
        return LEDGER_TROUBLE;
    if (call.half == 1 && (call.fault == FAULT_STOP || call.fault == FAULT_DEADLINE) && !call_pass(&call, 1))
        return LEDGER_TROUBLE;
    client_note_loss(ledger, batch);
    if (!batch->committed)
        return LEDGER_TROUBLE;
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
                                 struct fault *fault)
{
    const struct ledger_made *made = settling->made;
    struct statements it = {.key = client_key(claim->message), .token = claim->token};
    *ret_next = false;
    (void)client_trouble(fault, "dead");
    if (client_dead())
        return LEDGER_TROUBLE;
    for (size_t i = 0; i < settling->made_count; i++) {
        size_t place = claimed(claim, made[i].target);
        claim->settled[place] = true;
        it.settled[it.settled_count++] = (struct settled){
            .place = client_place(claim->message, made[i].target),
            .attempt = claim->attempts[place],
            .state = (uint8_t)made[i].state,
            .doubt = made[i].doubt,
            .error = made[i].error != NULL,
            .uidvalidity = made[i].uid != 0 ? made[i].uidvalidity : 0,
            .uid = made[i].uid,
        };
    }
    client_add_answers(&it, claim->message, settling->answers);
    if (world_tells)
        tell_settling(&it);
    enum ledger_result result = settle(ledger, claim, &it, settling->next, ret_next, ret_taken, fault);
    if (result == LEDGER_TROUBLE && !client_dead()) {
        client_close(ledger);
        TELL("settles on a new session");
        result = settle(ledger, claim, &it, LEDGER_NO_TARGET, ret_next, ret_taken, fault);
        if (result == LEDGER_TROUBLE)
            client_close(ledger);
    }
    if (result == LEDGER_TROUBLE && breakage == BREAK_SETTLE_UNCHECKED) {
        memset(ret_taken, 0, settling->made_count);
        return LEDGER_OK;
    }
    return result;
}

void ledger_abandon(struct ledger *ledger, struct ledger_claim *claim, struct ledger_answers answers)
{
    struct fault fault;
    struct ledger_made made[TARGETS];
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
            made[count++] = (struct ledger_made){
                .target = claim->copies[i].target,
                .state = COPY_PENDING,
                .doubt = claim->copies[i].doubt && breakage != BREAK_UNDO_CLEARS_DOUBT,
            };
    TELL("abandons its claim");
    const struct ledger_settling settling = {
        .made = made,
        .made_count = count,
        .answers = answers,
        .next = LEDGER_NO_TARGET,
    };
    if (ledger_settle(ledger, claim, &settling, &next, taken, &fault) == LEDGER_TROUBLE)
        TELL("cannot undo it");
}
