/* SPDX-License-Identifier: ISC
 *
 * The rows, and each statement as a function of them. */
#include "tables.h"

#include <stdlib.h>

#include "breakage.h"
#include "scheduler.h"

int tables_server;
static struct message_row messages[MESSAGES];
static struct delivery_row deliveries[MESSAGES * ADDRESSES];
static struct row copies[MESSAGES * (ADDRESSES + 1)];
static size_t message_count, delivery_count, copy_count;

void tables_clear(void)
{
    message_count = delivery_count = copy_count = 0;
    tables_server = 0;
}

static struct message_row *find_message(struct key key)
{
    for (size_t i = 0; i < message_count; i++)
        if (messages[i].key.identity == key.identity && messages[i].key.digest == key.digest)
            return &messages[i];
    return NULL;
}

bool tables_has_identity(struct key key)
{
    for (size_t i = 0; i < message_count; i++)
        if (messages[i].key.identity == key.identity)
            return true;
    return false;
}

static uint16_t number(const struct message_row *message)
{
    return (uint16_t)(message - messages);
}

static struct delivery_row *find_delivery(uint16_t message, uint8_t address)
{
    for (size_t i = 0; i < delivery_count; i++)
        if (deliveries[i].message == message && deliveries[i].address == address)
            return &deliveries[i];
    return NULL;
}

static struct row *find_copy(uint16_t message, struct place place)
{
    for (size_t i = 0; i < copy_count; i++)
        if (copies[i].message == message && copies[i].place.account == place.account &&
            copies[i].place.box == place.box)
            return &copies[i];
    return NULL;
}

const struct row *tables_row(struct key key, struct place place)
{
    const struct message_row *message = find_message(key);
    return message != NULL ? find_copy(number(message), place) : NULL;
}

const struct row *tables_next(size_t number, struct key *ret_key)
{
    if (number >= copy_count)
        return NULL;
    *ret_key = messages[copies[number].message].key;
    return &copies[number];
}

const struct message_row *tables_message(struct key key)
{
    return find_message(key);
}

const struct delivery_row *tables_delivery(struct key key, uint8_t address)
{
    const struct message_row *message = find_message(key);
    return message != NULL ? find_delivery(number(message), address) : NULL;
}

static size_t recipient_place(const struct ledger_message *message, uint8_t address)
{
    for (size_t i = 0; i < message->recipient_count; i++)
        if (message->recipients[i].account != NULL && world_number(message->recipients[i].address) == address)
            return i;
    return LEDGER_OTHER;
}

static struct place place_of(const struct ledger_target *target)
{
    return (struct place){(uint8_t)world_number(target->account), (uint8_t)world_box(target->mailbox),
                          (uint8_t)target->role};
}

/* Word present: the earliest that it may be. */
static int64_t present(const struct row *row, int64_t at, const struct clocks *clocks)
{
    int64_t least = at, running = row->boot_ahead + clocks->running, wall = row->host_ahead + clocks->wall;
    if (row->boot != clocks->boot)
        running = row->host == clocks->host && breakage != BREAK_JUMP_WHILE_OFF ? row->attempt_at + clocks->running
                                                                                : at;
    if (running >= row->attempt_at && running < least && breakage != BREAK_JUMP_ON_A_HOST)
        least = running;
    if (wall >= row->attempt_at && wall < least && breakage != BREAK_JUMP_BETWEEN_HOSTS)
        least = wall;
    return least;
}

static bool is_ahead(const struct row *row, int64_t at)
{
    return row->state != COPY_STORED && (row->attempt_at - at >= MS || row->first_at - at >= MS);
}

/* The age of a claim, in milliseconds. */
static int64_t claim_age(const struct row *row, int64_t at, const struct clocks *clocks)
{
    int64_t age = (present(row, at, clocks) - row->attempt_at) / MS;
    return age > 0 || breakage == BREAK_CLAIM_FROM_THE_FUTURE ? age : 0;
}

/* The age of the first one. */
static int64_t first_age(const struct row *row, int64_t at, const struct clocks *clocks)
{
    int64_t age = (present(row, at, clocks) - row->first_at) / MS;
    return age > 0 ? age : 0;
}

/* Step state_variants. */
static void state_variants(struct key key, struct place place, int64_t hold_off, int64_t at,
                           const struct clocks *clocks, struct ledger_copy_state *found, bool *ret_ahead)
{
    for (size_t i = 0; i < copy_count && breakage != BREAK_VARIANTS_UNSEEN; i++) {
        const struct row *row = &copies[i];
        const struct key *other = &messages[row->message].key;
        bool under_way = (row->state == COPY_APPENDING || (row->state == COPY_FAILED && row->doubt)) &&
                         claim_age(row, at, clocks) * MS < hold_off;
        if (other->identity != key.identity || other->digest == key.digest || row->place.account != place.account ||
            row->place.box != place.box || row->place.role != COPY_SENT || (row->state != COPY_STORED && !under_way))
            continue;
        *ret_ahead |= is_ahead(row, at);
        found->variant_has_copy |= !under_way;
        found->variant_in_flight |= under_way;
    }
}

/* ledger_state.c, read_sibling */
static void look_beside(uint16_t message, struct place place, int64_t at, const struct clocks *clocks,
                        struct ledger_copy_state *found)
{
    for (size_t i = 0; i < copy_count && place.role == COPY_INBOX; i++) {
        const struct place *other = &copies[i].place;
        int64_t age = claim_age(&copies[i], at, clocks);
        age = age > 0 ? age : 1;
        if (copies[i].message != message || other->account != place.account || other->role != COPY_INBOX ||
            other->box == place.box)
            continue;
        found->sibling = true;
        if (copies[i].state == COPY_APPENDING && (found->sibling_age_ms == 0 || age < found->sibling_age_ms))
            found->sibling_age_ms = age;
    }
}

static void take_copy(const struct ledger_message *message, const struct row *row, int64_t at,
                      const struct clocks *clocks, struct ledger_copy_state *found)
{
    const struct delivery_row *delivery = find_delivery(row->message, row->claimed_by);
    *found = (struct ledger_copy_state){
        .state = (enum copy_state)row->state,
        .doubt = row->doubt,
        .generation = row->generation,
        .claim_age_ms = claim_age(row, at, clocks),
        .first_age_ms = first_age(row, at, clocks),
        .owner = recipient_place(message, row->claimed_by),
        .owner_finished = delivery->finished,
        .uidvalidity = row->uidvalidity,
        .uid = row->uid,
    };
}

void tables_look(const struct ledger_message *message, struct key key, int64_t hold_off, int64_t at,
                 struct clocks clocks, struct ledger_state *found)
{
    const struct message_row *known = find_message(key);
    found->known = known != NULL;
    for (size_t i = 0; i < copy_count && known != NULL; i++)
        found->ahead |= copies[i].message == number(known) && is_ahead(&copies[i], at);
    found->received_at = known != NULL && breakage != BREAK_DATE_OF_THIS_TRY ? known->received_at
                                                                             : message->received_at;
    for (size_t i = 0; i < message->target_count; i++) {
        struct place place = place_of(&message->targets[i]);
        const struct row *row = known != NULL ? find_copy(number(known), place) : NULL;
        found->copies[i] = (struct ledger_copy_state){.owner = LEDGER_OTHER};
        if (row != NULL)
            take_copy(message, row, at, &clocks, &found->copies[i]);
        if (known != NULL)
            look_beside(number(known), place, at, &clocks, &found->copies[i]);
        if (place.role == COPY_SENT)
            state_variants(key, place, hold_off, at, &clocks, &found->copies[i], &found->ahead);
    }
}

void tables_end_ahead(struct key key, int64_t at)
{
    for (size_t i = 0; i < copy_count; i++) {
        struct row *row = &copies[i];
        if (messages[row->message].key.identity != key.identity || row->state == COPY_STORED)
            continue;
        int64_t ahead = row->attempt_at > at ? row->attempt_at - at : 0;
        row->attempt_at -= ahead;
        row->boot_ahead -= ahead;
        row->host_ahead -= ahead;
        row->first_at = row->first_at < at ? row->first_at : at;
    }
}

/* ledger_claim.c, add_reply */
static void claim_reply(uint16_t message, const struct recorded_today *recorded_today)
{
    struct delivery_row *row = find_delivery(message, recorded_today->address);
    if (row == NULL) {
        deliveries[delivery_count++] = (struct delivery_row){
            .message = message,
            .address = recorded_today->address,
            .finished = recorded_today->finished,
            .complete = recorded_today->complete,
            .tries = 1,
            .outcome = recorded_today->outcome,
        };
        return;
    }
    row->outcome = recorded_today->outcome;
    row->tries++;
    row->finished |= recorded_today->finished;
    row->complete |= recorded_today->complete;
}

/* ledger_claim.c, add_copy: without the recipient's row nothing is inserted. */
static void claim_copy(uint16_t message, const struct wanted *wanted, const struct statements *it, int64_t at)
{
    struct row *row = find_copy(message, wanted->place);
    if (find_delivery(message, wanted->address) == NULL)
        return;
    if (row == NULL) {
        row = &copies[copy_count++];
        *row = (struct row){.message = message, .place = wanted->place, .first_at = at};
    } else if (breakage != BREAK_CLAIM_BLINDLY &&
               (row->generation != wanted->generation - 1 || (row->state == COPY_STORED) != wanted->again)) {
        return;
    }
    row->repeated += wanted->again && row->generation > 0;
    row->state = COPY_APPENDING;
    row->doubt = wanted->doubt;
    row->error = false;
    row->generation++;
    row->attempt_at = at;
    row->host = it->clocks.host;
    row->boot = it->clocks.boot;
    row->boot_ahead = at - it->clocks.running;
    row->host_ahead = at - it->clocks.wall;
    row->token = it->token;
    row->claimed_by = wanted->address;
}

/* Step give_copy. */
static void give_copy(struct row *row, const struct settled *settled)
{
    bool stored = settled->state == COPY_STORED || breakage == BREAK_FEED_UNSTORED;
    bool again = row->repeated > 0 && breakage != BREAK_FEED_AGAIN;
    if (stored && !again && row->state != COPY_STORED)
        row->given++;
}

/* ledger_settle.c, add_copy_state */
static bool settle_copy(uint16_t message, const struct settled *settled, int64_t token)
{
    struct row *row = find_copy(message, settled->place);
    if (row == NULL)
        return false;
    if (breakage != BREAK_SETTLE_BLINDLY &&
        (row->generation != settled->generation || (row->token != token && breakage != BREAK_UNDO_BY_NUMBER)))
        return false;
    give_copy(row, settled);
    row->state = settled->state;
    row->doubt = settled->doubt;
    row->error = settled->error;
    row->uidvalidity = settled->uidvalidity;
    row->uid = settled->uid;
    return true;
}

/* ledger_settle.c, add_variants_state */
static void settle_variants(struct key key, const struct settled *settled)
{
    if (settled->place.role != COPY_SENT || settled->state != COPY_STORED)
        return;
    for (size_t i = 0; i < copy_count; i++) {
        struct row *row = &copies[i];
        const struct key *other = &messages[row->message].key;
        if (other->identity != key.identity || other->digest == key.digest || row->place.role != COPY_SENT ||
            row->place.account != settled->place.account || row->place.box != settled->place.box ||
            (row->state != COPY_PENDING && row->state != COPY_APPENDING))
            continue;
        row->state = COPY_STORED;
        row->doubt = row->error = false;
        row->uidvalidity = settled->uidvalidity;
        row->uid = settled->uid;
    }
}

/* ledger_settle.c, add_reply */
static void settle_reply(uint16_t message, const struct recorded_today *recorded_today)
{
    struct delivery_row *row = find_delivery(message, recorded_today->address);
    if (row == NULL)
        return;
    row->outcome = recorded_today->outcome;
    row->finished |= recorded_today->finished;
    row->complete |= recorded_today->complete;
}

static void execute_claim(const struct statements *it, int64_t at)
{
    if (it->record && find_message(it->key) == NULL)
        messages[message_count++] = (struct message_row){it->key, it->received_at};
    const struct message_row *message = find_message(it->key);
    if (message == NULL)
        return;
    for (size_t i = 0; i < it->told_count; i++)
        claim_reply(number(message), &it->recorded_today[i]);
    for (size_t i = 0; i < it->wanted_count; i++)
        claim_copy(number(message), &it->wanted[i], it, at);
}

void tables_execute(const struct statements *it, int64_t at, bool *ret_taken)
{
    if (it->is_claim) {
        execute_claim(it, at);
        return;
    }
    const struct message_row *message = find_message(it->key);
    for (size_t i = 0; i < it->settled_count; i++)
        ret_taken[i] = message == NULL || !settle_copy(number(message), &it->settled[i], it->token);
    for (size_t i = 0; i < it->settled_count && message != NULL; i++)
        settle_variants(it->key, &it->settled[i]);
    for (size_t i = 0; i < it->told_count && message != NULL; i++)
        settle_reply(number(message), &it->recorded_today[i]);
}

size_t tables_held(struct key key, int64_t token, const struct place *places, size_t count)
{
    size_t held = 0;
    for (size_t i = 0; i < count; i++) {
        const struct row *row = tables_row(key, places[i]);
        held += row != NULL && row->token == token && row->state == COPY_APPENDING;
    }
    return held;
}
