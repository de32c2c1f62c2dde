/* SPDX-License-Identifier: ISC
 *
 * As src/ledger/ledger_claim.c: claim and hold. */
#include "client.h"

#include "breakage.h"
#include "scheduler.h"

static void send_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_state *found,
                       struct ledger_replies replies, bool guarded)
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
    batch->guarded = guarded;
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

static struct ledger_claim *claim_begin(const struct ledger_message *message, const struct ledger_state *found,
                                        const struct ledger_copy *copies, size_t copy_count)
{
    struct ledger_claim *claim = base_alloc(sizeof(*claim));
    claim->message = message;
    claim->count = copy_count;
    for (size_t i = 0; i < copy_count; i++) {
        claim->copies[i] = copies[i];
        claim->attempts[i] = (int32_t)found->copies[copies[i].target].generation + 1;
    }
    return claim;
}

/* Sends it, unless the process dies before. */
static void execute_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_state *found,
                          struct ledger_replies replies, bool guarded)
{
    claim->call = call_begin(CALL_CLAIM);
    if (claim->count == 0)
        call_last(&claim->call, CALL_CLAIM);
    claim->token = (int64_t)dice_next(&world.current->dice);
    if (claim->call.error == ERROR_DEATH && claim->call.half == 0) {
        process_die("killed before its claim");
        return;
    }
    TELL("claims %zu copies%s", claim->count, guarded ? ", if the message is new" : "");
    send_claim(ledger, claim, found, replies, guarded);
    if (claim->call.error == ERROR_DEATH)
        process_die("killed behind its claim");
    else if (claim->call.error == ERROR_SESSION_ENDS)
        database_end_session_of(world.current, dice_below(&claim->call.dice, 40 * MS));
    else if (claim->call.error == ERROR_STOP && !call_pass(&claim->call, claim->call.half))
        TELL("its claim is on its way");
}

struct ledger_claim *ledger_claim(struct ledger *ledger, const struct ledger_message *message,
                                  const struct ledger_state *found, const struct ledger_copy *copies, size_t copy_count,
                                  struct ledger_replies replies, const struct decoded *decoded)
{
    struct ledger_claim *claim = claim_begin(message, found, copies, copy_count);
    (void)decoded;
    ledger->in_transaction = false;
    if (!client_dead())
        execute_claim(ledger, claim, found, replies, false);
    return claim;
}

/* With locks that cannot be lost. */
struct ledger_claim *ledger_claim_if_new(struct ledger *ledger, const struct ledger_message *message,
                                         struct ledger_state *found, const struct ledger_copy *copies,
                                         size_t copy_count, struct ledger_replies replies,
                                         const struct decoded *decoded, const char *server)
{
    struct error ignored;
    enum lock_method method = ledger->config->lock.method;
    (void)decoded;
    if ((server != NULL && !tables_server) || (method != LOCK_METHOD_ADVISORY && method != LOCK_METHOD_SESSION) ||
        !call_claims_if_new() || !client_connect(ledger, &ignored))
        return NULL;
    ledger->lock = client_lock(ledger, message);
    struct ledger_claim *claim = claim_begin(message, found, copies, copy_count);
    execute_claim(ledger, claim, found, replies, true);
    if (claim->batch != NULL && client_await_guard(claim->batch) && claim->batch->may_claim) {
        client_note_lock(ledger, true);
        ledger->in_transaction = false;
        return claim;
    }
    if (claim->batch != NULL && !client_dead()) {
        client_note_loss(ledger, claim->batch);
        ledger->just_tried = !ledger->broken && !claim->batch->granted;
    }
    ledger_claim_free(&claim);
    return NULL;
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
