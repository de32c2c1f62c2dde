/* SPDX-License-Identifier: ISC */
#include "differential/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential/calls.h"
#include "differential/dump.h"
#include "simulation/key.h"

const char *history_address(unsigned number)
{
    static const char *const addresses[ADDRESSES_MAX] = {
        "r0@example.org", "r1@example.org", "r2@example.org", "r3@example.org",
        "r4@example.org", "r5@example.org", "r6@example.org", "r7@example.org",
    };
    return addresses[number];
}

const char *history_account(unsigned number)
{
    static const char *const accounts[ACCOUNTS_MAX] = {"a0", "a1", "a2", "a3", "a4", "a5"};
    return accounts[number];
}

static struct ledger *open_ledger(const struct history *history)
{
    struct error error;
    struct ledger *ledger = ledger_open(&history->config, NULL, &error);
    if (ledger == NULL) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
    return ledger;
}

bool history_method(const char *name, enum lock_method *ret)
{
    static const char *const names[LOCK_METHODS] = {"advisory", "row", "lease", "session"};
    for (*ret = 0; *ret < LOCK_METHODS; (*ret)++)
        if (strcmp(name, names[*ret]) == 0)
            return true;
    return false;
}

bool history_open(struct history *history, const char *conninfo, enum lock_method method)
{
    static char empty[] = "", schema[] = "oncedrop";
    history->config.database.conninfo = base_strdup(conninfo);
    history->config.database.tls = DATABASE_TLS_CONNINFO;
    history->config.database.schema = schema;
    history->config.lock.namespace = empty;
    history->config.lock.method = method;
    history->config.route.account_query = empty;
    history->config.record.notify = empty;
    history->config.delivery.deadline = HOUR_MS;
    history->config.delivery.hold_off = 5 * HOUR_MS + HOUR_MS / 2;
    if (!fixture_open(&history->config))
        return false;
    for (size_t i = 0; i < SESSIONS; i++)
        history->players[i] = (struct player){.number = i, .ledger = open_ledger(history)};
    return true;
}

void history_close(struct history *history)
{
    for (size_t i = 0; i < SESSIONS; i++)
        ledger_close(&history->players[i].ledger);
    fixture_close();
    base_free(&history->config.database.conninfo);
}

static void fill(struct dice *dice, unsigned char bytes[LEDGER_HASH_SIZE])
{
    for (size_t i = 0; i < LEDGER_HASH_SIZE; i += sizeof(uint64_t)) {
        uint64_t part = dice_next(dice);
        memcpy(&bytes[i], &part, sizeof(part));
    }
}

/* Each is new, or has the Message-ID of the previous one. */
static void draw_contents(struct history *history, struct dice *dice)
{
    history->content_count = (size_t)dice_between(dice, 1, CONTENTS_MAX);
    for (size_t i = 0; i < history->content_count; i++) {
        struct content *content = &history->contents[i];
        bool variant = i > 0 && dice_percent(dice, 70);
        *content = (struct content){.sender = (size_t)dice_below(dice, 2)};
        content->message.sender = history_address((unsigned)content->sender);
        content->message.received_at = dice_between(dice, 1000000000, 2000000000);
        content->message.size = 1000;
        fill(dice, content->message.digest);
        fill(dice, content->message.identity);
        if (!variant)
            continue;
        memcpy(content->message.identity, content[-1].message.identity, LEDGER_HASH_SIZE);
        content->sender = content[-1].sender;
    }
}

static void begin(struct history *history, uint64_t seed, uint64_t number)
{
    struct dice dice = dice_of(seed, number, 0);
    struct ledger *ledgers[SESSIONS];
    for (size_t i = 0; i < SESSIONS; i++)
        ledgers[i] = history->players[i].ledger;
    memset(history->records, 0, sizeof(history->records));
    draw_contents(history, &dice);
    fixture_begin(ledgers);
    dump_begin();
}

/* A lock is waited for only while another session has it. */
static void stranger_asks(struct history *history, size_t stranger, const struct player *player)
{
    struct ledger_message *message = &history->stranger_messages[stranger];
    if (player->stage == STAGE_IDLE)
        return;
    *message = player->message;
    history->stranger_asks[stranger] = fixture_stranger_asks(stranger, message);
    dump(history, "stranger %zu asks for the lock of %zu, and %s", stranger, player->number,
         fixture_stranger_waits(stranger) ? "waits" : "has it");
}

static void stranger_tries(struct history *history, size_t stranger, struct dice *dice)
{
    size_t content = (size_t)dice_below(dice, (int64_t)history->content_count);
    bool has = fixture_stranger_asks(stranger, &history->contents[content].message);
    history->stranger_asks[stranger] = has;
    dump(history, "stranger %zu tries the lock of message %zu, and %s it", stranger, content,
         has ? "has" : "does not get");
}

static void step_stranger(struct history *history, struct dice *dice)
{
    if (history->config.lock.method == LOCK_METHOD_LEASE) /* only a delivery has one */
        return;
    size_t stranger = (size_t)dice_below(dice, STRANGERS);
    const struct player *player = &history->players[dice_below(dice, SESSIONS)];
    if (history->stranger_asks[stranger]) {
        fixture_stranger_leaves(stranger);
        history->stranger_asks[stranger] = false;
        dump(history, "stranger %zu leaves", stranger);
    } else if (history->config.lock.method == LOCK_METHOD_SESSION) {
        stranger_tries(history, stranger, dice);
    } else {
        stranger_asks(history, stranger, player);
    }
}

static void step_death(struct history *history, struct player *player)
{
    dump(history, "%zu dies, and begins anew", player->number);
    fixture_kill(player->number);
    calls_forget(player);
    ledger_close(&player->ledger);
    player->ledger = open_ledger(history);
    fixture_replace(player->number, player->ledger);
}

static void step_late(const struct history *history)
{
    if (!fixture_late())
        return;
    dump(history, "what is late comes");
    fixture_late_comes();
}

static void step_call(struct history *history, struct player *player, struct dice *dice)
{
    switch (player->stage) {
    case STAGE_IDLE:
        calls_begin(history, player, dice);
        break;
    case STAGE_LOOKED:
        if (dice_percent(dice, 10))
            calls_leave(history, player);
        else
            calls_claim(history, player, dice);
        break;
    case STAGE_CLAIMED:
        if (!fixture_waits(player->number))
            calls_hold(history, player);
        break;
    case STAGE_HELD:
        if (dice_percent(dice, 20))
            calls_abandon(history, player, dice);
        else
            calls_settle(history, player, dice);
        break;
    case STAGE_LEFT:
        calls_abandon(history, player, dice);
        break;
    }
}

static void step(struct history *history, struct dice *dice)
{
    struct player *player = &history->players[dice_below(dice, SESSIONS)];
    int64_t kind = dice_below(dice, 100);
    if (kind < 7) {
        int hours = (int)dice_between(dice, 1, 6);
        fixture_pass(hours);
        dump(history, "%d hours pass", hours);
    } else if (kind < 14) {
        step_stranger(history, dice);
    } else if (kind < 17) {
        step_late(history);
    } else if (kind < 19) {
        fixture_kill(player->number);
        dump(history, "the session of %zu ends", player->number);
    } else if (kind < 21) {
        step_death(history, player);
    } else {
        step_call(history, player, dice);
    }
    fixture_set_fate(FIXTURE_DONE, 0);
    fixture_work();
}

static void end_player(struct history *history, struct player *player)
{
    struct dice dice = dice_of(0, 0, 0);
    switch (player->stage) {
    case STAGE_IDLE:
        break;
    case STAGE_LOOKED:
        calls_leave(history, player);
        break;
    case STAGE_CLAIMED:
        if (!fixture_waits(player->number))
            calls_hold(history, player);
        break;
    case STAGE_HELD:
    case STAGE_LEFT:
        calls_abandon(history, player, &dice);
        break;
    }
}

/* Everybody finishes. */
static void end(struct history *history)
{
    bool busy = true;
    for (size_t i = 0; i < STRANGERS; i++)
        if (history->stranger_asks[i]) {
            fixture_stranger_leaves(i);
            history->stranger_asks[i] = false;
        }
    while (busy) {
        busy = false;
        step_late(history);
        for (size_t i = 0; i < SESSIONS; i++) {
            end_player(history, &history->players[i]);
            fixture_set_fate(FIXTURE_DONE, 0);
            fixture_work();
            busy = busy || history->players[i].stage != STAGE_IDLE;
        }
    }
    dump_changes(history);
}

void history_play(struct history *history, uint64_t seed, uint64_t number, const bool *left_out)
{
    struct dice dice = dice_of(seed, number, 1);
    int steps = (int)dice_between(&dice, 8, STEPS_MAX);
    printf("history %llu\n", (unsigned long long)number);
    begin(history, seed, number);
    for (history->step = 0; history->step < steps; history->step++) {
        struct dice own = dice_of(seed, number, 100 + (uint64_t)history->step);
        if (!left_out[history->step])
            step(history, &own);
    }
    end(history);
}
