/* SPDX-License-Identifier: ISC */
#include "differential/calls.h"

#include <stdio.h>
#include <string.h>

#include "decode/decode.h"
#include "differential/dump.h"
#include "simulation/key.h"

#define PATIENT_MS 60000 /* lock.wait of a hold that others are meant to let through */

static bool same_lock(const struct history *history, const struct ledger_message *a, const struct ledger_message *b)
{
    enum lock_method method = history->config.lock.method;
    return key_of_lock(method, a->identity) == key_of_lock(method, b->identity);
}

/* Whether a player or a stranger waits for this player's lock, and gets it when the transaction ends. */
static bool is_wanted(const struct history *history, const struct player *player)
{
    for (size_t i = 0; i < SESSIONS; i++)
        if (&history->players[i] != player && fixture_waits(i) &&
            same_lock(history, &history->players[i].message, &player->message))
            return true;
    for (size_t i = 0; i < STRANGERS; i++)
        if (fixture_stranger_waits(i) && same_lock(history, &history->stranger_messages[i], &player->message))
            return true;
    return false;
}

void calls_forget(struct player *player)
{
    ledger_claim_free(&player->claim);
    base_free(&player->found);
    player->stage = STAGE_IDLE;
}

/* Chooses what goes wrong with the next batch, mostly nothing. */
static void draw_fate(const struct history *history, struct dice *dice, int percent, enum fixture_fate last)
{
    enum fixture_fate fate = (enum fixture_fate)dice_between(dice, FIXTURE_LOST, last);
    if (!dice_percent(dice, percent) || (fate == FIXTURE_LATE && fixture_late()))
        return;
    if (fate == FIXTURE_LATE && history->config.lock.method == LOCK_METHOD_SESSION)
        fate = FIXTURE_UNREPORTED; /* a session that is a process does not go on without it */
    int count = fate != FIXTURE_LATE && dice_percent(dice, 20) ? 2 : 1;
    dump(history, "(the next %s %s)", count == 2 ? "two are" : "is", fixture_fate_names[fate]);
    fixture_set_fate(fate, count);
}

static size_t place(struct ledger_message *message, struct ledger_target *targets, struct ledger_target target)
{
    for (size_t i = 0; i < message->target_count; i++)
        if (strcmp(targets[i].account, target.account) == 0 && strcmp(targets[i].mailbox, target.mailbox) == 0)
            return i;
    targets[message->target_count] = target;
    return message->target_count++;
}

/* Two of these addresses belong to accounts that another one also belongs to. */
static void draw_recipients(struct player *player, struct dice *dice)
{
    static const unsigned near[] = {0, 1, 6, 7, 2};
    struct ledger_message *message = &player->message;
    message->recipient_count = (size_t)dice_between(dice, 1, RECIPIENTS_MAX);
    size_t first = (size_t)dice_below(dice, 5);
    for (size_t i = 0; i < message->recipient_count; i++) {
        unsigned address = near[(first + i) % 5];
        bool nowhere = dice_percent(dice, 5);
        const char *mailbox = dice_percent(dice, 8) ? "Sent" : "INBOX",
                   *account = history_account(address % ACCOUNTS_MAX);
        player->recipients[i] = (struct ledger_recipient){.address = history_address(address)};
        player->target_of[i] = LEDGER_NO_TARGET;
        if (nowhere)
            continue;
        player->recipients[i].account = account;
        player->recipients[i].mailbox = mailbox;
        player->target_of[i] =
            place(message, player->targets, (struct ledger_target){account, mailbox, COPY_INBOX, NULL, NULL});
    }
}

/* A message and where it belongs, as in a delivery. */
static void draw_message(struct history *history, struct player *player, struct dice *dice)
{
    player->content = (size_t)dice_below(dice, (int64_t)history->content_count);
    const struct content *content = &history->contents[player->content];
    player->message = content->message;
    player->message.targets = player->targets;
    player->message.recipients = player->recipients;
    player->message.received_at += dice_below(dice, 3);
    draw_recipients(player, dice);
    if (dice_percent(dice, 75))
        (void)place(&player->message, player->targets,
                    (struct ledger_target){history_account((unsigned)content->sender), "Sent", COPY_SENT, NULL, NULL});
}

void calls_leave(struct history *history, struct player *player)
{
    ledger_unlock(player->ledger, 0);
    dump(history, "%zu leaves", player->number);
    calls_forget(player);
}

/* answers: room for each recipient. */
static struct ledger_replies draw_replies(const struct history *history, const struct player *player, struct dice *dice,
                                          struct ledger_reply *replies)
{
    static const char *const outcomes[] = {"claimed", "stored", "duplicate", "busy", "database"};
    size_t count = 0;
    for (size_t i = 0; i < player->message.recipient_count; i++) {
        if (player->recipients[i].account == NULL || dice_percent(dice, 12))
            continue;
        replies[count] = (struct ledger_reply){
            .recipient = i,
            .outcome = outcomes[dice_below(dice, 5)],
            .reason = dice_percent(dice, 50) ? "because" : NULL,
            .finished = dice_percent(dice, 25),
            .complete = dice_percent(dice, 30),
        };
        dump(history, "    %s is told \"%s\"%s%s", player->recipients[i].address, replies[count].outcome,
             replies[count].finished ? ", finished" : "", replies[count].complete ? ", whole" : "");
        count++;
    }
    return (struct ledger_replies){.replies = replies, .count = count};
}

/* A recipient with an account is responsible for it: for an inbox mostly its owner. */
static size_t draw_recipient(const struct player *player, size_t target, struct dice *dice)
{
    size_t count = player->message.recipient_count, first = (size_t)dice_below(dice, (int64_t)count);
    bool any = dice_percent(dice, 20) || player->targets[target].role == COPY_SENT;
    for (size_t i = 0; i < 2 * count; i++) {
        size_t recipient = (first + i) % count;
        if (player->target_of[recipient] == target ||
            ((any || i >= count) && player->recipients[recipient].account != NULL))
            return recipient;
    }
    return LEDGER_OTHER;
}

static void draw_copies(const struct history *history, struct player *player, struct dice *dice)
{
    player->copy_count = 0;
    player->next = LEDGER_NO_TARGET;
    for (size_t i = 0; i < player->message.target_count; i++) {
        const struct ledger_copy_state *found = &player->found->copies[i];
        bool result = dice_percent(dice, found->state == COPY_STORED ? 30 : 75), as_found = dice_percent(dice, 95);
        bool doubt = dice_percent(dice, found->doubt || found->state == COPY_APPENDING ? 85 : 20);
        size_t recipient = draw_recipient(player, i, dice);
        if (!result || recipient == LEDGER_OTHER)
            continue;
        struct ledger_copy *copy = &player->copies[player->copy_count];
        player->settled[player->copy_count++] = false;
        *copy = (struct ledger_copy){.target = i, .recipient = recipient, .doubt = doubt};
        copy->again = (found->state == COPY_STORED) == as_found;
        dump(history, "    %s, for %s%s%s", dump_target(&player->targets[i]), player->recipients[recipient].address,
             copy->doubt ? ", in doubt" : "", copy->again ? ", again" : "");
    }
}

static void look(struct history *history, struct player *player, struct dice *dice)
{
    struct error error;
    draw_fate(history, dice, 3, FIXTURE_UNREPORTED);
    enum ledger_result result = ledger_read_state(player->ledger, &player->message, &player->found, &error);
    dump(history, "%zu looks at message %zu: %s", player->number, player->content, dump_results[result]);
    if (result != LEDGER_OK)
        return;
    dump_found(history, player);
    player->stage = STAGE_LOOKED;
}

static bool claim_if_new(struct history *history, struct player *player, struct dice *dice)
{
    static const struct decoded decoded;
    struct ledger_reply replies[RECIPIENTS_MAX];
    player->found = ledger_state_new(&player->message);
    dump(history, "%zu claims message %zu, if it is new", player->number, player->content);
    draw_copies(history, player, dice);
    struct ledger_replies recorded_today = draw_replies(history, player, dice, replies);
    if (player->copy_count > 0) {
        draw_fate(history, dice, 12, FIXTURE_LATE);
        fixture_forget_known(player->number);
        history->config.lock.wait = PATIENT_MS;
        player->claim = ledger_claim_if_new(player->ledger, &player->message, player->found, player->copies,
                                            player->copy_count, recorded_today, &decoded, NULL);
        history->config.lock.wait = 0;
        fixture_set_fate(FIXTURE_DONE, 0);
    }
    fixture_work();
    dump(history, "  %s", player->claim != NULL ? "the message is new" : "nothing is claimed, as far as known");
    dump_changes(history);
    if (player->claim == NULL) {
        base_free(&player->found);
        return false;
    }
    player->stage = STAGE_CLAIMED;
    player->committed = false;
    return true;
}

void calls_begin(struct history *history, struct player *player, struct dice *dice)
{
    draw_message(history, player, dice);
    if (player->message.target_count == 0)
        return;
    enum lock_method method = history->config.lock.method;
    bool tried = history->claims_if_new && (method == LOCK_METHOD_ADVISORY || method == LOCK_METHOD_SESSION) &&
                 dice_percent(dice, 40);
    if (!tried || !claim_if_new(history, player, dice))
        look(history, player, dice);
}

void calls_claim(struct history *history, struct player *player, struct dice *dice)
{
    static const struct decoded decoded;
    struct ledger_reply replies[RECIPIENTS_MAX];
    bool impatient = dice_percent(dice, 3) && is_wanted(history, player);
    dump(history, "%zu claims%s", player->number, impatient ? ", and will not wait for the lock" : "");
    draw_copies(history, player, dice);
    struct ledger_replies recorded_today = draw_replies(history, player, dice, replies);
    draw_fate(history, dice, 12, FIXTURE_LATE);
    history->config.lock.wait = impatient ? 0 : PATIENT_MS;
    player->claim = ledger_claim(player->ledger, &player->message, player->found, player->copies, player->copy_count,
                                 recorded_today, &decoded);
    history->config.lock.wait = 0;
    player->stage = STAGE_CLAIMED;
    player->committed = false;
    if (impatient)
        calls_hold(history, player);
    fixture_work();
    if (fixture_waits(player->number))
        dump(history, "  waits for the lock");
    dump_changes(history);
}

/* After its last copy a claim is over. */
static void go_on(struct player *player, bool held)
{
    bool open = false;
    for (size_t i = 0; i < player->copy_count; i++)
        open = open || !player->settled[i];
    player->stage = held ? STAGE_HELD : STAGE_LEFT;
    if (!open)
        calls_forget(player);
}

void calls_hold(struct history *history, struct player *player)
{
    struct error error;
    enum ledger_result result = ledger_hold(player->ledger, player->claim, &error);
    dump(history, "%zu holds: %s", player->number, dump_results[result]);
    player->committed = result != LEDGER_ERROR;
    if (result == LEDGER_ERROR)
        player->stage = STAGE_LEFT;
    else
        go_on(player, result == LEDGER_OK);
}

static struct ledger_copy_result draw_made(size_t target, struct dice *dice)
{
    static const enum copy_state states[] = {COPY_STORED,  COPY_STORED,    COPY_STORED, COPY_STORED,
                                             COPY_PENDING, COPY_APPENDING, COPY_FAILED, COPY_FAILED};
    struct ledger_copy_result result = {.target = target,
                                        .state = states[dice_below(dice, 8)],
                                        .doubt = dice_percent(dice, 35)};
    bool uid = dice_percent(dice, result.state == COPY_STORED ? 70 : 10);
    result.uidvalidity = uid ? (uint32_t)dice_between(dice, 1, 3) : 0;
    result.uid = uid ? (uint32_t)dice_between(dice, 1, UINT32_MAX) : 0;
    result.error = dice_percent(dice, 30) ? "no room" : NULL;
    return result;
}

/* Some of the copies that are held. *ret_next: one to follow them. */
static size_t draw_settling(const struct history *history, struct player *player, struct dice *dice,
                            struct ledger_copy_result *result, size_t *ret_next)
{
    size_t count = 0;
    bool with_next = player->next == LEDGER_NO_TARGET && dice_percent(dice, is_wanted(history, player) ? 3 : 70);
    *ret_next = LEDGER_NO_TARGET;
    for (size_t i = 0; i < player->copy_count; i++) {
        size_t target = player->copies[i].target;
        if (player->settled[i] || (player->next != LEDGER_NO_TARGET && player->next != target))
            continue;
        if (count > 0 && dice_percent(dice, 40)) {
            *ret_next = with_next ? target : LEDGER_NO_TARGET;
            continue;
        }
        player->settled[i] = true;
        result[count++] = draw_made(target, dice);
    }
    return count;
}

void calls_settle(struct history *history, struct player *player, struct dice *dice)
{
    struct error error;
    struct ledger_copy_result results[TARGETS_MAX];
    struct ledger_reply replies[RECIPIENTS_MAX];
    bool next = false, taken[TARGETS_MAX];
    struct ledger_settling settling = {.result = results};
    settling.result_count = draw_settling(history, player, dice, results, &settling.next);
    dump(history, "%zu settles", player->number);
    for (size_t i = 0; i < settling.result_count; i++)
        dump(history, "    %s: %s%s%s, uid %u/%u", dump_target(&player->targets[results[i].target]),
             dump_states[results[i].state], results[i].doubt ? " in doubt" : "",
             results[i].error != NULL ? " with an error" : "", results[i].uidvalidity, results[i].uid);
    if (settling.next != LEDGER_NO_TARGET)
        dump(history, "    %s is next", dump_target(&player->targets[settling.next]));
    settling.replies = draw_replies(history, player, dice, replies);
    draw_fate(history, dice, 15, FIXTURE_LATE);
    enum ledger_result result = ledger_settle(player->ledger, player->claim, &settling, &next, taken, &error);
    fixture_work();
    dump(history, "  %s%s", dump_results[result], next ? ", holds what is next" : "");
    for (size_t i = 0; i < settling.result_count && result != LEDGER_ERROR; i++)
        if (taken[i])
            dump(history, "    %s is another's", dump_target(&player->targets[results[i].target]));
    dump_changes(history);
    player->next = settling.next;
    go_on(player, next);
}

void calls_abandon(struct history *history, struct player *player, struct dice *dice)
{
    struct ledger_reply replies[RECIPIENTS_MAX];
    dump(history, "%zu abandons its claim", player->number);
    struct ledger_replies recorded_today = draw_replies(history, player, dice, replies);
    if (player->committed)
        draw_fate(history, dice, 8, FIXTURE_LATE);
    ledger_release(player->ledger, player->claim, recorded_today);
    fixture_work();
    dump_changes(history);
    calls_forget(player);
}
