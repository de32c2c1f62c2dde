/* SPDX-License-Identifier: ISC
 *
 * As src/ledger/ledger_claim.c: claim and hold. */
#include "client.h"

#include "breakage.h"
#include "scheduler.h"

static void send_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_state *found,
                       struct ledger_replies replies)
{
    struct batch *batch = database_batch();
    struct statements *it = &batch->statements;
    *it = (struct statements){.key = client_key(claim->message),
                              .clocks = client_clocks(),
                              .is_claim = true,
                              .record = !found->known,
                              .received_at = found->received_at,
                              .token = claim->token};
    client_add_replies(it, claim->message, replies);
    for (size_t i = 0; i < claim->count; i++)
        it->wanted[it->wanted_count++] = (struct wanted){
            .place = client_place(claim->message, claim->copies[i].target),
            .address = (uint8_t)world_number(claim->message->recipients[claim->copies[i].recipient].address),
            .doubt = claim->copies[i].doubt,
            .again = claim->copies[i].again,
            .generation = claim->attempts[i],
        };
    batch->session = ledger->session;
    client_set_lock(ledger, batch);
    batch->releases = claim->count == 0;
    if (claim->count > 0)
        client_add_hold(ledger, claim, LEDGER_NO_TARGET, batch);
    client_set_fate(batch, &claim->call);
    claim->batch = batch;
    database_send(batch, claim->call.time[0]);
}

/* With either, the claim may be the first or the APPENDs that are announced. */
bool ledger_in_process(const struct ledger *ledger)
{
    (void)ledger;
    return dice_below(&world.current->dice, 2) == 0;
}

struct ledger_claim *ledger_claim(struct ledger *ledger, const struct ledger_message *message,
                                  const struct ledger_state *found, const struct ledger_copy *copies, size_t copy_count,
                                  struct ledger_replies replies, const struct decoded *decoded)
{
    struct ledger_claim *claim = base_alloc(sizeof(*claim));
    (void)decoded;
    claim->message = message;
    claim->count = copy_count;
    for (size_t i = 0; i < copy_count; i++) {
        claim->copies[i] = copies[i];
        claim->attempts[i] = (int32_t)found->copies[copies[i].target].generation + 1;
    }
    ledger->in_transaction = false;
    if (client_dead())
        return claim;
    claim->call = call_begin(CALL_CLAIM);
    if (copy_count == 0)
        call_last(&claim->call, CALL_CLAIM);
    claim->token = (int64_t)dice_next(&world.current->dice);
    if (claim->call.error == ERROR_DEATH && claim->call.half == 0) {
        process_die("killed before its claim");
        return claim;
    }
    TELL("claims %zu copies", copy_count);
    send_claim(ledger, claim, found, replies);
    if (claim->call.error == ERROR_DEATH)
        process_die("killed behind its claim");
    else if (claim->call.error == ERROR_SESSION_ENDS)
        database_end_session_of(world.current, dice_below(&claim->call.dice, 40 * MS));
    else if (claim->call.error == ERROR_STOP && !call_pass(&claim->call, claim->call.half))
        TELL("its claim is on its way");
    return claim;
}

void ledger_claim_free(struct ledger_claim **claim)
{
    base_free(claim);
}

enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct error *error)
{
    struct batch *batch = claim->batch;
    (void)client_trouble(error, "database: connection lost");
    if (batch == NULL || !client_await(batch))
        return LEDGER_ERROR;
    struct call call = call_begin(CALL_HOLD);
    call.time[0] = call.time[1] = 0;
    if (!call_pass(&call, 0))
        return LEDGER_ERROR;
    client_note_loss(ledger, batch);
    claim->committed = batch->committed;
    if (breakage == BREAK_COMMIT_UNCHECKED && !batch->committed) {
        TELL("does not look whether its claim is committed");
        return LEDGER_OK;
    }
    if (!batch->committed)
        return LEDGER_ERROR;
    enum ledger_result result = claim->count == 0 ? LEDGER_OK : batch->hold;
    if (claim->count > 0)
        client_note_lock(ledger, batch->locked);
    TELL("%s", result == LEDGER_OK ? "holds" : result == LEDGER_BUSY ? "cannot hold" : "loses its session in the hold");
    return result;
}
