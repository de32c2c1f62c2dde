/* SPDX-License-Identifier: ISC
 *
 * As src/ledger/ledger_state.c. */
#include "client.h"

#include "breakage.h"
#include "scheduler.h"

#define POLL_FIRST (5 * MS)
#define POLL_LONGEST (100 * MS)

static void tell_found(const struct ledger_message *message, const struct ledger_state *found)
{
    static const char *const states[] = {"none", "pending", "appending", "stored", "failed"};
    TELL("has the lock, and finds:");
    for (size_t i = 0; i < message->target_count; i++)
        TELL("    %s of %s: %s%s, attempt %d, %.3f s ago%s", message->targets[i].mailbox, message->targets[i].account,
             states[found->copies[i].state], found->copies[i].doubt ? " in doubt" : "",
             (int)found->copies[i].generation, (double)found->copies[i].claim_age_ms / 1000,
             found->copies[i].variant_has_copy    ? ", a variant has it"
             : found->copies[i].variant_in_flight ? ", a variant is in flight"
                                                  : "");
}

static enum ledger_result try_read_state(struct ledger *ledger, const struct ledger_message *message,
                                         struct ledger_state **ret, struct error *error)
{
    (void)client_trouble(error, "database: connection lost");
    if (!client_connect(ledger, error))
        return LEDGER_ERROR;
    struct call call = call_begin(CALL_LOOK);
    if (!call_pass(&call, 0))
        return LEDGER_ERROR;
    if (call.error == ERROR_DATABASE_AWAY || !ledger->session->alive) {
        client_lose(ledger);
        return LEDGER_ERROR;
    }
    bool granted = ledger->owner != 0 ? database_take_lease(ledger->lock, ledger->owner, client_lease(ledger))
                                      : database_try_lock(ledger->session, ledger->lock);
    if (!granted) {
        TELL("does not get the lock");
        call_last(&call, CALL_LOOK);
        if (call_pass(&call, 1) && call.error != ERROR_REPLY_LOST)
            return LEDGER_BUSY;
        client_lose(ledger);
        return LEDGER_ERROR;
    }
    struct ledger_state *found = base_alloc(sizeof(*found) + message->target_count * sizeof(found->copies[0]));
    tables_look(message, client_key(message), ledger->config->delivery.hold_off * MS, database_clock(), client_clocks(),
                found);
    if (world_tells)
        tell_found(message, found);
    if (call_pass(&call, 1) && call.error != ERROR_REPLY_LOST) {
        client_note_lock(ledger, true);
        *ret = found;
        return LEDGER_OK;
    }
    client_lose(ledger);
    base_free(&found);
    return LEDGER_ERROR;
}

static enum ledger_result read_state_once(struct ledger *ledger, const struct ledger_message *message,
                                          struct ledger_state **ret, struct error *error)
{
    bool kept = ledger->kept;
    enum ledger_result result = try_read_state(ledger, message, ret, error);
    if (result == LEDGER_ERROR && client_lost_kept(ledger, kept))
        result = try_read_state(ledger, message, ret, error);
    return result;
}

/* In a separate transaction. */
static bool end_ahead(struct ledger *ledger, const struct ledger_message *message, struct error *error)
{
    if (!client_connect(ledger, error))
        return false;
    struct call call = call_begin(CALL_LOOKUP);
    if (!call_pass(&call, 0))
        return client_trouble(error, "dead");
    if (call.error == ERROR_DATABASE_AWAY || !ledger->session->alive) {
        client_lose(ledger);
        return client_trouble(error, "database: connection lost");
    }
    TELL("gives claims from the future the present as their time");
    tables_end_ahead(client_key(message), database_clock());
    return call_pass(&call, 1);
}

static enum ledger_result look(struct ledger *ledger, const struct ledger_message *message, struct ledger_state **ret,
                               struct error *error)
{
    struct ledger_state *found = NULL;
    bool tried = ledger->just_tried;
    ledger->just_tried = false;
    if (tried)
        return LEDGER_BUSY;
    enum ledger_result result = read_state_once(ledger, message, &found, error);
    if (result == LEDGER_OK && found->ahead && breakage != BREAK_CLAIM_FROM_THE_FUTURE) {
        base_free(&found);
        client_rollback(ledger);
        result = end_ahead(ledger, message, error) ? read_state_once(ledger, message, &found, error) : LEDGER_ERROR;
    }
    if (result == LEDGER_OK)
        *ret = found;
    return result;
}

static bool just_claimed(const struct ledger_message *message, const struct ledger_state *found, int64_t within_ms)
{
    for (size_t i = 0; i < message->target_count; i++) {
        const struct ledger_copy_state *copy = &found->copies[i];
        bool concerns_us = message->targets[i].role == COPY_INBOX ||
                           (copy->owner != LEDGER_OTHER && !copy->owner_finished);
        if (concerns_us && copy->state == COPY_APPENDING && copy->claim_age_ms < within_ms)
            return true;
    }
    return false;
}

enum ledger_result ledger_read_state(struct ledger *ledger, const struct ledger_message *message,
                                     struct ledger_state **ret, struct error *error)
{
    int64_t wait = ledger->config->lock.wait, until = now + wait * MS;
    ledger->lock = client_lock(ledger, message);
    if (ledger->config->lock.method == LOCK_METHOD_LEASE)
        ledger->owner = dice_next(&world.current->dice) | 1;
    for (int64_t pause = POLL_FIRST;; pause = pause * 2 < POLL_LONGEST ? pause * 2 : POLL_LONGEST) {
        struct ledger_state *found = NULL;
        enum ledger_result result = look(ledger, message, &found, error);
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
            return LEDGER_ERROR;
    }
}

char *ledger_holder(struct ledger *ledger)
{
    (void)ledger;
    return NULL;
}

void ledger_unlock(struct ledger *ledger, size_t held)
{
    (void)held;
    client_rollback(ledger);
}
