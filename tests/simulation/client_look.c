/* SPDX-License-Identifier: ISC
 *
 * As src/ledger/ledger_look.c. */
#include "client.h"

#include "breakage.h"
#include "scheduler.h"

#define POLL_FIRST (5 * MS)
#define POLL_LONGEST (100 * MS)

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
    (void)client_trouble(fault, "database: connection lost");
    if (!client_connect(ledger, fault))
        return LEDGER_TROUBLE;
    struct call call = call_begin(CALL_LOOK);
    if (!call_pass(&call, 0))
        return LEDGER_TROUBLE;
    if (call.fault == FAULT_DATABASE_AWAY || !ledger->session->alive) {
        client_lose(ledger);
        return LEDGER_TROUBLE;
    }
    bool granted = ledger->owner != 0 ? database_take_lease(ledger->lock, ledger->owner, client_lease(ledger))
                                      : database_try_lock(ledger->session, ledger->lock);
    if (!granted) {
        TELL("does not get the lock");
        call_last(&call, CALL_LOOK);
        if (call_pass(&call, 1) && call.fault != FAULT_ANSWER_LOST)
            return LEDGER_BUSY;
        client_lose(ledger);
        return LEDGER_TROUBLE;
    }
    struct ledger_found *found = base_alloc(sizeof(*found) + message->target_count * sizeof(found->copies[0]));
    tables_look(message, client_key(message), ledger->config->delivery.hold_off * MS, database_clock(), client_clocks(),
                found);
    if (world_tells)
        tell_found(message, found);
    if (call_pass(&call, 1) && call.fault != FAULT_ANSWER_LOST) {
        client_note_lock(ledger, true);
        *ret = found;
        return LEDGER_OK;
    }
    client_lose(ledger);
    base_free(&found);
    return LEDGER_TROUBLE;
}

static enum ledger_result look_once(struct ledger *ledger, const struct ledger_message *message,
                                    struct ledger_found **ret, struct fault *fault)
{
    bool kept = ledger->kept;
    enum ledger_result result = try_look(ledger, message, ret, fault);
    if (result == LEDGER_TROUBLE && client_lost_kept(ledger, kept))
        result = try_look(ledger, message, ret, fault);
    return result;
}

/* In a transaction of its own. */
static bool end_ahead(struct ledger *ledger, const struct ledger_message *message, struct fault *fault)
{
    if (!client_connect(ledger, fault))
        return false;
    struct call call = call_begin(CALL_LOOKUP);
    if (!call_pass(&call, 0))
        return client_trouble(fault, "dead");
    if (call.fault == FAULT_DATABASE_AWAY || !ledger->session->alive) {
        client_lose(ledger);
        return client_trouble(fault, "database: connection lost");
    }
    TELL("gives claims from the future the present as their time");
    tables_end_ahead(client_key(message), database_clock());
    return call_pass(&call, 1);
}

static enum ledger_result look(struct ledger *ledger, const struct ledger_message *message, struct ledger_found **ret,
                               struct fault *fault)
{
    struct ledger_found *found = NULL;
    enum ledger_result result = look_once(ledger, message, &found, fault);
    if (result == LEDGER_OK && found->ahead && breakage != BREAK_CLAIM_FROM_THE_FUTURE) {
        base_free(&found);
        client_rollback(ledger);
        result = end_ahead(ledger, message, fault) ? look_once(ledger, message, &found, fault) : LEDGER_TROUBLE;
    }
    if (result == LEDGER_OK)
        *ret = found;
    return result;
}

static bool just_claimed(const struct ledger_message *message, const struct ledger_found *found, int64_t within_ms)
{
    for (size_t i = 0; i < message->target_count; i++) {
        const struct ledger_found_copy *copy = &found->copies[i];
        bool concerns_us = message->targets[i].role == COPY_INBOX ||
                           (copy->owner != LEDGER_OTHER && !copy->owner_finished);
        if (concerns_us && copy->state == COPY_APPENDING && copy->attempt_age_ms < within_ms)
            return true;
    }
    return false;
}

enum ledger_result ledger_look(struct ledger *ledger, const struct ledger_message *message, struct ledger_found **ret,
                               struct fault *fault)
{
    int64_t wait = ledger->config->lock.wait, until = now + wait * MS;
    ledger->lock = client_lock(ledger, message);
    if (ledger->config->lock.method == LOCK_METHOD_LEASE)
        ledger->owner = dice_next(&world.current->dice) | 1;
    for (int64_t pause = POLL_FIRST;; pause = pause * 2 < POLL_LONGEST ? pause * 2 : POLL_LONGEST) {
        struct ledger_found *found = NULL;
        enum ledger_result result = look(ledger, message, &found, fault);
        bool again = result == LEDGER_BUSY || (result == LEDGER_OK && just_claimed(message, found, wait));
        if (client_dead() || !again || now >= until) {
            if (result == LEDGER_OK)
                *ret = found;
            return result;
        }
        if (result == LEDGER_OK)
            client_rollback(ledger);
        base_free(&found);
        if (!process_sleep(pause / 2 + dice_below(&world.current->dice, pause)))
            return LEDGER_TROUBLE;
    }
}

char *ledger_holder(struct ledger *ledger)
{
    (void)ledger;
    return NULL;
}

void ledger_leave(struct ledger *ledger, size_t held)
{
    (void)held;
    client_rollback(ledger);
}
