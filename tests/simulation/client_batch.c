/* SPDX-License-Identifier: ISC
 *
 * Shared by claims and settlings: what goes into a batch, and the wait for its results. */
#include "client.h"

#include "scheduler.h"

void client_add_replies(struct statements *statements, const struct ledger_message *message,
                        struct ledger_replies replies)
{
    for (size_t i = 0; i < replies.count; i++)
        statements->recorded_today[statements->told_count++] = (struct recorded_today){
            .address = (uint8_t)world_number(message->recipients[replies.replies[i].recipient].address),
            .finished = replies.replies[i].finished,
            .complete = replies.replies[i].complete,
            .outcome = replies.replies[i].outcome,
        };
}

struct place client_place(const struct ledger_message *message, size_t target)
{
    const struct ledger_target *it = &message->targets[target];
    return (struct place){(uint8_t)world_number(it->account), (uint8_t)world_box(it->mailbox), (uint8_t)it->role};
}

void client_add_hold(const struct ledger *ledger, const struct ledger_claim *claim, size_t target, struct batch *batch)
{
    for (size_t i = 0; i < claim->count; i++)
        if (!claim->settled[i] && (target == LEDGER_NO_TARGET || claim->copies[i].target == target))
            batch->held[batch->held_count++] = client_place(claim->message, claim->copies[i].target);
    batch->hold_wait = ledger_hold_wait_ms(ledger->config) * MS;
}

int64_t ledger_hold_wait_ms(const struct config *config)
{
    return config->lock.wait > 1000 ? config->lock.wait : 1000;
}

/* Decides by a fault what happens to a batch. */
void client_set_fate(struct batch *batch, struct call *call)
{
    static const enum fate fates[ERROR_KINDS] = {
        [ERROR_DATABASE_AWAY] = FATE_LOST,       [ERROR_REPLY_LOST] = FATE_UNTOLD,
        [ERROR_HOLD_LOST] = FATE_RECORDED_TODAY, [ERROR_ROLLED_BACK] = FATE_ROLLED_BACK,
        [ERROR_LATE_COMMIT] = FATE_LATE,
    };
    batch->fate = fates[call->error];
    if (batch->fate == FATE_RECORDED_TODAY && batch->held_count > 0 && call->half == 1) {
        batch->fate = FATE_DONE;
        batch->lost_in_hold = true;
    }
    batch->untold = call->half == 0;
    batch->late_by = call->late_by;
    batch->process = world.current;
    batch->back = call->time[1];
}

/* The results of a batch that was sent. */
bool client_await(struct batch *batch)
{
    struct process *process = world.current;
    process->waiting = batch;
    bool alive = !process->dead;
    while (alive && !batch->ready)
        alive = process_wait();
    process->waiting = NULL;
    return alive;
}

bool client_await_guard(struct batch *batch)
{
    struct process *process = world.current;
    process->waiting = batch;
    bool alive = !process->dead;
    while (alive && !batch->ready && !batch->may_claim)
        alive = process_wait();
    process->waiting = NULL;
    return alive;
}

static bool is_lost(const struct batch *batch)
{
    return batch->fate == FATE_LOST || batch->fate == FATE_UNTOLD || batch->fate == FATE_RECORDED_TODAY ||
           batch->fate == FATE_LATE || batch->lost_in_hold ||
           (!batch->session->alive && (!batch->committed || batch->hold == LEDGER_ERROR));
}

/* After a batch whose connection is lost: the session of a late one is left to the database. */
void client_note_loss(struct ledger *ledger, const struct batch *batch)
{
    if (!is_lost(batch))
        return;
    ledger->broken = true;
    if (batch->fate == FATE_LATE && ledger->session == batch->session)
        ledger->session = NULL;
}
