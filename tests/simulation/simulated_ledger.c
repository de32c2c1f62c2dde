/* SPDX-License-Identifier: ISC
 *
 * src/ledger/ledger.h, on a database that is simulated. Call for call as ledger_look.c, ledger_claim.c and ledger_settle.c. */
#include "simulated_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "breakage.h"
#include "ledger/ledger_server.h"
#include "scheduler.h"

#define POLL_FIRST (5 * MS)
#define POLL_LONGEST (100 * MS)

struct ledger {
    const struct config *config;
    struct session *session;
    bool broken;            /* the session is known to be lost */
    bool in_transaction;
};

struct ledger_claim {
    const struct ledger_message *message;
    struct ledger_copy copies[TARGETS];
    int32_t attempts[TARGETS];
    bool settled[TARGETS];
    size_t count;
    int64_t token;
    struct batch *batch;    /* NULL: it could not be sent */
    struct call call;
    bool committed;
};

struct session *ledger_session(const struct ledger *ledger)
{
    return ledger != NULL ? ledger->session : NULL;
}

static void end_session(void *what, uint32_t tag)
{
    (void)tag;
    database_end_session(what);
}

void ledger_died(struct ledger *ledger, int64_t after)
{
    if (ledger->session != NULL && ledger->session->alive)
        schedule(now + after, end_session, ledger->session, 0);
    ledger->session = NULL;
}

struct ledger *ledger_open(const struct config *config, const char *queue_id, struct fault *fault)
{
    struct ledger *ledger = base_alloc(sizeof(*ledger));
    (void)queue_id;
    (void)fault;
    ledger->config = config;
    return ledger;
}

/* Where the process is dead, its session was left to ledger_died. */
static void drop_session(struct ledger *ledger)
{
    if (ledger->session != NULL)
        database_end_session(ledger->session);
    ledger->session = NULL;
    ledger->broken = false;
    ledger->in_transaction = false;
}

void ledger_close(struct ledger **ledger)
{
    if (*ledger == NULL)
        return;
    drop_session(*ledger);
    base_free(ledger);
}

static bool trouble(struct fault *fault, const char *text)
{
    strcpy(fault->text, text);
    return false;
}

static bool dead(void)
{
    return world.current->dead;
}

/* ledger_connect: a lost session is mostly, not always, seen before it is used. */
static bool reconnect(struct ledger *ledger, struct fault *fault)
{
    if (dead())
        return trouble(fault, "dead");
    if (ledger->session != NULL && !ledger->session->alive && dice_percent(&world.current->dice, 75))
        ledger->broken = true;
    if (ledger->session != NULL && !ledger->broken)
        return true;
    drop_session(ledger);
    struct call call = call_begin(CALL_CONNECT);
    if (!call_pass(&call, 0) || !call_pass(&call, 1))
        return trouble(fault, "dead");
    if (call.fault == FAULT_DATABASE_AWAY)
        return trouble(fault, "no connection to the database");
    ledger->session = database_connect();
    return true;
}

static void lose_session(struct ledger *ledger)
{
    if (dead())
        return;
    ledger->broken = true;
    ledger->in_transaction = false;
    if (ledger->session != NULL)
        database_end_session(ledger->session);
}

static void rollback(struct ledger *ledger)
{
    ledger->in_transaction = false;
    if (!dead() && ledger->session != NULL && ledger->session->alive)
        database_rollback(ledger->session);
}

static uint64_t first_bytes(const unsigned char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static struct key key_of(const struct ledger_message *message)
{
    return (struct key){first_bytes(message->identity),
                        breakage != BREAK_VARIANT_IS_DUPLICATE ? first_bytes(message->digest) : 0};
}

static uint64_t lock_of(const struct ledger_message *message)
{
    uint64_t key = first_bytes(message->identity);
    return message->lock_account != NULL ? dice_mix(key + world_number(message->lock_account) + 1) : key;
}

static void tell_found(const struct ledger_message *message, const struct ledger_found *found)
{
    static const char *const states[] = {"none", "pending", "appending", "stored", "failed"};
    TELL("has the lock, and finds:");
    for (size_t i = 0; i < message->target_count; i++)
        TELL("    %s of %s: %s%s, attempt %d, %.3f s ago%s", message->targets[i].mailbox, message->targets[i].account,
             states[found->copies[i].state], found->copies[i].doubt ? " in doubt" : "", (int)found->copies[i].attempt,
             (double)found->copies[i].attempt_age_ms / 1000, found->copies[i].elsewhere ? ", a variant has it" : "");
}

static enum ledger_result try_look(struct ledger *ledger, const struct ledger_message *message,
                                   struct ledger_found **ret, struct fault *fault)
{
    (void)trouble(fault, "database: connection lost");
    if (!reconnect(ledger, fault))
        return LEDGER_TROUBLE;
    struct call call = call_begin(CALL_LOOK);
    if (!call_pass(&call, 0))
        return LEDGER_TROUBLE;
    if (call.fault == FAULT_DATABASE_AWAY || !ledger->session->alive) {
        lose_session(ledger);
        return LEDGER_TROUBLE;
    }
    if (!database_try_lock(ledger->session, lock_of(message))) {
        TELL("does not get the lock");
        call_last(&call, CALL_LOOK);
        return call_pass(&call, 1) ? LEDGER_BUSY : LEDGER_TROUBLE;
    }
    struct ledger_found *found = base_alloc(sizeof(*found) + message->target_count * sizeof(found->copies[0]));
    tables_look(message, key_of(message), ledger->config->delivery.hold_off * MS, database_clock(), found);
    if (world_tells)
        tell_found(message, found);
    if (call_pass(&call, 1) && call.fault != FAULT_ANSWER_LOST) {
        ledger->in_transaction = true;
        *ret = found;
        return LEDGER_OK;
    }
    lose_session(ledger);
    base_free(&found);
    return LEDGER_TROUBLE;
}

static bool just_claimed(const struct ledger_message *message, const struct ledger_found *found, int64_t within_ms)
{
    for (size_t i = 0; i < message->target_count; i++) {
        const struct ledger_found_copy *copy = &found->copies[i];
        bool concerns_us = message->targets[i].role == COPY_INBOX || (copy->owner != LEDGER_OTHER && !copy->owner_finished);
        if (concerns_us && copy->state == COPY_APPENDING && copy->attempt_age_ms < within_ms)
            return true;
    }
    return false;
}

enum ledger_result ledger_look(struct ledger *ledger, const struct ledger_message *message, struct ledger_found **ret,
                               struct fault *fault)
{
    int64_t wait = ledger->config->lock.wait, until = now + wait * MS;
    for (int64_t pause = POLL_FIRST;; pause = pause * 2 < POLL_LONGEST ? pause * 2 : POLL_LONGEST) {
        struct ledger_found *found = NULL;
        bool kept = ledger->session != NULL;
        enum ledger_result result = try_look(ledger, message, &found, fault);
        if (result == LEDGER_TROUBLE && kept && ledger->broken && !dead())
            result = try_look(ledger, message, &found, fault);
        bool again = result == LEDGER_BUSY || (result == LEDGER_OK && just_claimed(message, found, wait));
        if (dead() || !again || now >= until) {
            if (result == LEDGER_OK)
                *ret = found;
            return result;
        }
        if (result == LEDGER_OK)
            rollback(ledger);
        base_free(&found);
        if (!process_sleep(pause / 2 + dice_below(&world.current->dice, pause)))
            return LEDGER_TROUBLE;
    }
}

void ledger_leave(struct ledger *ledger)
{
    rollback(ledger);
}

static void add_answers(struct statements *statements, const struct ledger_message *message, struct ledger_answers answers)
{
    for (size_t i = 0; i < answers.count; i++)
        statements->told[statements->told_count++] = (struct told){
            .address = (uint8_t)world_number(message->recipients[answers.answers[i].recipient].address),
            .finished = answers.answers[i].finished, .whole = answers.answers[i].whole,
        };
}

static struct place place_of(const struct ledger_message *message, size_t target)
{
    const struct ledger_target *it = &message->targets[target];
    return (struct place){(uint8_t)world_number(it->account), (uint8_t)world_box(it->mailbox), (uint8_t)it->role};
}

static void add_hold(const struct ledger *ledger, const struct ledger_claim *claim, size_t target, struct batch *batch)
{
    for (size_t i = 0; i < claim->count; i++)
        if (!claim->settled[i] && (target == LEDGER_NO_TARGET || claim->copies[i].target == target))
            batch->held[batch->held_count++] = place_of(claim->message, claim->copies[i].target);
    batch->hold_wait = ledger_hold_wait_ms(ledger->config) * MS;
}

int64_t ledger_hold_wait_ms(const struct config *config)
{
    return config->lock.wait > 1000 ? config->lock.wait : 1000;
}

/* What a fault makes of a batch. */
static void set_fate(struct batch *batch, struct call *call)
{
    static const enum fate fates[FAULT_KINDS] = {
        [FAULT_DATABASE_AWAY] = FATE_LOST, [FAULT_ANSWER_LOST] = FATE_UNTOLD, [FAULT_HOLD_LOST] = FATE_TOLD,
        [FAULT_ROLLED_BACK] = FATE_ROLLED_BACK, [FAULT_LATE_COMMIT] = FATE_LATE,
    };
    batch->fate = fates[call->fault];
    if (batch->fate == FATE_TOLD && batch->held_count > 0 && call->half == 1) {
        batch->fate = FATE_DONE;
        batch->lost_in_hold = true;
    }
    int64_t most = dice_percent(&call->dice, 50) ? SECOND : world.config.delivery.deadline * MS;
    batch->late_by = dice_below(&call->dice, most);
    batch->process = world.current;
    batch->back = call->time[1];
}

static void send_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_found *found,
                       struct ledger_answers answers)
{
    struct batch *batch = database_batch();
    struct statements *it = &batch->statements;
    *it = (struct statements){.key = key_of(claim->message), .is_claim = true, .record = !found->known,
                              .received_at = found->received_at, .token = claim->token};
    add_answers(it, claim->message, answers);
    for (size_t i = 0; i < claim->count; i++)
        it->wanted[it->wanted_count++] = (struct wanted){
            .place = place_of(claim->message, claim->copies[i].target),
            .address = (uint8_t)world_number(claim->message->recipients[claim->copies[i].recipient].address),
            .doubt = claim->copies[i].doubt, .again = claim->copies[i].again, .attempt = claim->attempts[i],
        };
    batch->session = ledger->session;
    batch->lock = lock_of(claim->message);
    if (claim->count > 0)
        add_hold(ledger, claim, LEDGER_NO_TARGET, batch);
    set_fate(batch, &claim->call);
    claim->batch = batch;
    database_send(batch, claim->call.time[0]);
}

struct ledger_claim *ledger_claim(struct ledger *ledger, const struct ledger_message *message,
                                  const struct ledger_found *found, const struct ledger_copy *copies, size_t copy_count,
                                  struct ledger_answers answers, const struct decoded *decoded)
{
    struct ledger_claim *claim = base_alloc(sizeof(*claim));
    (void)decoded;
    claim->message = message;
    claim->count = copy_count;
    for (size_t i = 0; i < copy_count; i++) {
        claim->copies[i] = copies[i];
        claim->attempts[i] = (int32_t)found->copies[copies[i].target].attempt + 1;
    }
    ledger->in_transaction = false;
    if (dead())
        return claim;
    claim->call = call_begin(CALL_CLAIM);
    if (copy_count == 0)
        call_last(&claim->call, CALL_CLAIM);
    claim->token = (int64_t)dice_next(&world.current->dice);
    if (claim->call.fault == FAULT_DEATH && claim->call.half == 0) {
        process_die("killed before its claim");
        return claim;
    }
    TELL("claims %zu copies", copy_count);
    send_claim(ledger, claim, found, answers);
    if (claim->call.fault == FAULT_DEATH)
        process_die("killed behind its claim");
    else if (claim->call.fault == FAULT_SESSION_ENDS)
        database_end_session_of(world.current, dice_below(&claim->call.dice, 40 * MS));
    else if (claim->call.fault == FAULT_STOP && !call_pass(&claim->call, claim->call.half))
        TELL("its claim is on its way");
    return claim;
}

void ledger_claim_free(struct ledger_claim **claim)
{
    base_free(claim);
}

/* The results of a batch that was sent. */
static bool await(struct batch *batch)
{
    struct process *process = world.current;
    process->waiting = batch;
    bool alive = !process->dead;
    while (alive && !batch->ready)
        alive = process_wait();
    process->waiting = NULL;
    return alive;
}

static bool is_lost(const struct batch *batch)
{
    return batch->fate == FATE_LOST || batch->fate == FATE_UNTOLD || batch->fate == FATE_TOLD ||
           batch->fate == FATE_LATE || batch->lost_in_hold ||
           (!batch->session->alive && (!batch->committed || batch->hold == LEDGER_TROUBLE));
}

/* After a batch whose connection is lost: a late one's session is left to the database. */
static void note_loss(struct ledger *ledger, const struct batch *batch)
{
    if (!is_lost(batch))
        return;
    ledger->broken = true;
    if (batch->fate == FATE_LATE && ledger->session == batch->session)
        ledger->session = NULL;
}

enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault)
{
    struct batch *batch = claim->batch;
    (void)trouble(fault, "database: connection lost");
    if (batch == NULL || !await(batch))
        return LEDGER_TROUBLE;
    struct call call = call_begin(CALL_HOLD);
    call.time[0] = call.time[1] = 0;
    if (!call_pass(&call, 0))
        return LEDGER_TROUBLE;
    note_loss(ledger, batch);
    claim->committed = batch->committed;
    if (breakage == BREAK_COMMIT_UNCHECKED && !batch->committed) {
        TELL("does not look whether its claim is committed");
        return LEDGER_OK;
    }
    if (!batch->committed)
        return LEDGER_TROUBLE;
    enum ledger_result result = claim->count == 0 ? LEDGER_OK : batch->hold;
    ledger->in_transaction = result == LEDGER_OK && claim->count > 0;
    TELL("%s", result == LEDGER_OK ? "holds" : result == LEDGER_BUSY ? "cannot hold" : "loses its session in the hold");
    return result;
}

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
    (void)trouble(fault, "database: connection lost");
    if (!reconnect(ledger, fault))
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
    batch->lock = lock_of(claim->message);
    if (next != LEDGER_NO_TARGET)
        add_hold(ledger, claim, next, batch);
    if (!ledger->in_transaction)
        rollback(ledger);
    ledger->in_transaction = false;
    set_fate(batch, &call);
    database_send(batch, call.time[0]);
    if (call.half == 1 && call.fault == FAULT_DEATH)
        process_die("killed behind its settling");
    if (!await(batch))
        return LEDGER_TROUBLE;
    if (call.half == 1 && (call.fault == FAULT_STOP || call.fault == FAULT_DEADLINE) && !call_pass(&call, 1))
        return LEDGER_TROUBLE;
    note_loss(ledger, batch);
    if (!batch->committed)
        return LEDGER_TROUBLE;
    enum ledger_result result = LEDGER_OK;
    for (size_t i = 0; i < it->settled_count; i++)
        if (batch->taken[i])
            result = LEDGER_BUSY;
    memcpy(ret_taken, batch->taken, it->settled_count);
    *ret_next = next != LEDGER_NO_TARGET && batch->hold == LEDGER_OK;
    ledger->in_transaction = *ret_next;
    return result;
}

static void tell_settling(const struct statements *it)
{
    static const char *const states[] = {"none", "pending", "appending", "stored", "failed"};
    for (size_t i = 0; i < it->settled_count; i++)
        TELL("settles %s of %s: %s%s", it->settled[i].place.box == BOX_SENT ? "Sent" : "INBOX",
             world_account(it->settled[i].place.account), states[it->settled[i].state],
             it->settled[i].doubt ? " in doubt" : "");
}

enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_settling *settling,
                                 bool *ret_next, bool *ret_taken, struct fault *fault)
{
    const struct ledger_made *made = settling->made;
    struct statements it = {.key = key_of(claim->message), .token = claim->token};
    *ret_next = false;
    (void)trouble(fault, "dead");
    if (dead())
        return LEDGER_TROUBLE;
    for (size_t i = 0; i < settling->made_count; i++) {
        size_t place = claimed(claim, made[i].target);
        claim->settled[place] = true;
        it.settled[it.settled_count++] = (struct settled){
            .place = place_of(claim->message, made[i].target), .attempt = claim->attempts[place],
            .state = (uint8_t)made[i].state, .doubt = made[i].doubt, .uid = made[i].uid,
        };
    }
    add_answers(&it, claim->message, settling->answers);
    if (world_tells)
        tell_settling(&it);
    enum ledger_result result = settle(ledger, claim, &it, settling->next, ret_next, ret_taken, fault);
    if (result == LEDGER_TROUBLE && !dead()) {
        lose_session(ledger);
        TELL("settles on a new session");
        result = settle(ledger, claim, &it, LEDGER_NO_TARGET, ret_next, ret_taken, fault);
        if (result == LEDGER_TROUBLE)
            lose_session(ledger);
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
    if (dead())
        return;
    if (!claim->committed && breakage != BREAK_UNDO_BY_NUMBER) {
        rollback(ledger);
        return;
    }
    for (size_t i = 0; i < claim->count; i++)
        if (!claim->settled[i])
            made[count++] = (struct ledger_made){
                .target = claim->copies[i].target, .state = COPY_PENDING,
                .doubt = claim->copies[i].doubt && breakage != BREAK_UNDO_CLEARS_DOUBT,
            };
    TELL("abandons its claim");
    const struct ledger_settling settling = {
        .made = made, .made_count = count, .answers = answers, .next = LEDGER_NO_TARGET,
    };
    if (ledger_settle(ledger, claim, &settling, &next, taken, &fault) == LEDGER_TROUBLE)
        TELL("cannot undo it");
}

bool ledger_lookup(struct ledger *ledger, const char *query, const char *address, bool *ret_found,
                   char *ret_columns[3], struct fault *fault)
{
    (void)query;
    for (int i = 0; i < 2; i++) {
        bool kept = ledger->session != NULL;
        if (!reconnect(ledger, fault))
            return false;
        struct call call = call_begin(CALL_LOOKUP);
        if (!call_pass(&call, 0) || !call_pass(&call, 1))
            return trouble(fault, "dead");
        if (call.fault != FAULT_DATABASE_AWAY && ledger->session->alive) {
            memset(ret_columns, 0, 3 * sizeof(ret_columns[0]));
            *ret_found = world_number(address) < ADDRESSES;
            if (*ret_found)
                ret_columns[0] = base_strdup(world_account(world_account_of(world_number(address))));
            return true;
        }
        lose_session(ledger);
        (void)trouble(fault, "[route] account_query: connection lost");
        if (!kept)
            return false;
    }
    return false;
}

bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_look,
                        struct fault *fault)
{
    bool found;
    char *columns[3] = {NULL};
    if (!ledger_lookup(ledger, server, world_address(0), &found, columns, fault))
        return false;
    base_free(&columns[0]);
    *ret = tables_server ? LEDGER_SERVER_HONOURED : LEDGER_SERVER_NEW;
    *ret_look = !tables_server;
    return true;
}

bool ledger_server_record(struct ledger *ledger, const char *server, bool honoured, struct fault *fault)
{
    (void)ledger;
    (void)server;
    (void)fault;
    if (!dead())
        tables_server = honoured;
    return !dead();
}
