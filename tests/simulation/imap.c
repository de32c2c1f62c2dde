/* SPDX-License-Identifier: ISC
 *
 * src/mailbox/mailbox.h, on mailboxes that are simulated: sessions and APPEND. */
#include "imap.h"

#include <stdlib.h>
#include <string.h>

#include "breakage.h"
#include "checker.h"
#include "faults.h"
#include "mailbox/mailbox.h"
#include "scheduler.h"

struct mailbox {
    unsigned account;
    unsigned epoch;
    bool broken;
};

/* A message that the server has received but not stored yet. */
struct flight {
    struct content *content;
    unsigned account;
    enum box box;
    int64_t internal_date;
    uint32_t uid;
};

#define FLIGHTS 4096

static struct box_content boxes[ACCOUNTS][BOXES];
static struct flight flights[FLIGHTS];
static size_t flight_count;
static unsigned epoch;
static uint32_t next_uid;

void imap_clear(void)
{
    for (unsigned account = 0; account < ACCOUNTS; account++)
        for (unsigned box = 0; box < BOXES; box++)
            boxes[account][box].count = 0;
    flight_count = 0;
    next_uid = 0;
}

void imap_restart(void)
{
    epoch++;
}

const struct box_content *imap_box(unsigned account, enum box box)
{
    return &boxes[account][box];
}

size_t imap_count(unsigned account, enum box box, const struct content *content, bool by_id)
{
    const struct box_content *it = &boxes[account][box];
    size_t count = 0;
    for (size_t i = 0; i < it->count; i++)
        count += it->stored[i].content == content ||
                 (by_id && content->message.message_id != NULL && it->stored[i].content->identity == content->identity);
    return count;
}

/* The server never stores what it refuses. */
static void store(struct flight *flight)
{
    if (flight->content->verdict != VERDICT_GOOD)
        return;
    struct box_content *box = &boxes[flight->account][flight->box];
    if (box->count == STORED_MOST)
        abort();
    flight->uid = ++next_uid;
    box->stored[box->count++] = (struct stored){flight->content, flight->internal_date, flight->uid};
    counts.copies++;
    TELL("  (server: message %u is stored in %s of %s)", flight->content->number,
         flight->box == BOX_SENT ? "Sent" : "INBOX", world_account(flight->account));
    checker_stored(flight->content, flight->account, flight->box);
}

static void store_late(void *what, uint32_t tag)
{
    (void)tag;
    store(what);
}

/* The client is gone: the message is stored at once, at some time within the limit, or never. */
static void leave_to_server(struct flight *flight, struct dice *dice, bool certainly)
{
    int64_t most = world.late_most;
    int64_t kind = dice_below(dice, 8);
    if (kind < 3 && !certainly)
        return;
    if (breakage == BREAK_LATER_THAN_HOLD_OFF)
        most = 3 * world.hold_off;
    int64_t after = kind == 3   ? dice_below(dice, 50 * MS)
                    : kind == 4 ? dice_below(dice, 5 * SECOND)
                    : kind == 5 ? most - dice_below(dice, SECOND)
                                : dice_below(dice, most);
    schedule(now + after, store_late, flight, 0);
}

static struct fault *set(struct fault *fault, const char *text)
{
    strcpy(fault->text, text);
    return fault;
}

struct mailbox *mailbox_open(const struct config *config, const char *account, struct fault *fault)
{
    (void)config;
    set(fault, "IMAP: no connection");
    struct call call = call_begin(CALL_LOGIN);
    if (!call_pass(&call, 0) || !call_pass(&call, 1) || call.fault == FAULT_IMAP_AWAY)
        return NULL;
    struct mailbox *mailbox = base_alloc(sizeof(*mailbox));
    mailbox->account = world_number(account);
    mailbox->epoch = epoch;
    return mailbox;
}

void mailbox_close(struct mailbox **mailbox)
{
    base_free(mailbox);
}

bool mailbox_alive(struct mailbox *mailbox)
{
    return !world.current->dead && !mailbox->broken && mailbox->epoch == epoch;
}

bool mailbox_delegates(const struct config *config)
{
    (void)config;
    return world.delegates;
}

char *mailbox_server(const struct config *config)
{
    (void)config;
    return base_strdup("server");
}

enum identity_result mailbox_identity(const struct config *config, const char *account, struct fault *fault)
{
    struct mailbox *mailbox = mailbox_open(config, account, fault);
    if (mailbox == NULL)
        return IDENTITY_UNKNOWN;
    mailbox_close(&mailbox);
    return IDENTITY_COUNTS;
}

static enum append_result answered(enum append_result result, const char *name)
{
    TELL("APPEND: %s", name);
    world.current->certain = result > APPEND_STORED;
    return result;
}

static enum append_result refuse_before(struct dice *dice)
{
    switch (dice_below(dice, 3)) {
    case 0:
        return answered(APPEND_NO_MAILBOX, "NO [TRYCREATE]");
    case 1:
        return answered(APPEND_NOT_SENT, "no '+'");
    default:
        return answered(APPEND_UNAVAILABLE, "NO before the literal");
    }
}

/* A NO after the literal: some say truthfully that nothing was stored; after the others it may have been. */
static enum append_result refuse(struct flight *flight, struct dice *dice)
{
    static const struct {
        enum append_result result;
        const char *name;
    } answers[] = {
        {APPEND_TROUBLE, "NO"},
        {APPEND_TROUBLE, "NO"},
        {APPEND_REFUSED, "NO, of the content"},
        {APPEND_LIMIT, "NO [LIMIT]"},
        {APPEND_PERHAPS_OVERQUOTA, "NO, of some quota"},
        {APPEND_OVERQUOTA, "NO [OVERQUOTA]"},
        {APPEND_NOPERM, "NO [NOPERM]"},
    };
    size_t which = (size_t)dice_below(dice, (int64_t)(sizeof(answers) / sizeof(answers[0])));
    enum append_result result = answers[which].result;
    if (result < APPEND_STORED && dice_percent(dice, 50))
        store(flight);
    if (breakage == BREAK_ANY_NO_IS_CERTAIN)
        result = APPEND_UNAVAILABLE;
    return answered(result, answers[which].name);
}

/* The connection is lost after the beginning of the literal. */
static enum append_result lose(struct mailbox *mailbox, struct flight *flight, struct call *call)
{
    mailbox->broken = true;
    if (call->fault == FAULT_APPEND_UNTOLD)
        store(flight);
    else if (call->fault == FAULT_APPEND_LATE)
        leave_to_server(flight, &call->dice, true);
    (void)answered(APPEND_UNKNOWN, "connection lost");
    return breakage == BREAK_LOST_IS_STORED ? APPEND_STORED : APPEND_UNKNOWN;
}

/* A stopped process may get the answer when it continues; what was sent is processed. */
static bool stop_behind(struct flight *flight, struct call *call)
{
    bool arrived = dice_percent(&call->dice, 80);
    if (arrived)
        leave_to_server(flight, &call->dice, true);
    return call_pass(call, 1) && arrived;
}

static enum append_result send_literal(struct mailbox *mailbox, struct flight *flight)
{
    struct call call = call_begin(CALL_LITERAL);
    TELL("sends the message to %s of %s", flight->box == BOX_SENT ? "Sent" : "INBOX", world_account(flight->account));
    if (!call_pass(&call, 0)) {
        if (call.fault != FAULT_STOP || call.half != 0) /* otherwise its deadline is the first thing it notices */
            leave_to_server(flight, &call.dice, false);
        return APPEND_UNKNOWN;
    }
    bool stopped = call.fault == FAULT_STOP && call.half == 1;
    if (stopped && !stop_behind(flight, &call))
        return lose(mailbox, flight, &call);
    if (call.fault >= FAULT_APPEND_LOST && call.fault <= FAULT_APPEND_LATE)
        return lose(mailbox, flight, &call);
    if (mailbox->epoch != epoch)
        return lose(mailbox, flight, &call);
    if (flight->content->verdict == VERDICT_TOO_BIG)
        return answered(APPEND_TOOBIG, "NO [TOOBIG]");
    if (flight->content->verdict == VERDICT_REFUSED)
        return answered(APPEND_REFUSED, "NO, of the content");
    if (call.fault == FAULT_APPEND_NO)
        return refuse(flight, &call.dice);
    if (!stopped)
        store(flight);
    else if (flight->uid == 0)
        return lose(mailbox, flight, &call);
    if (!stopped && !call_pass(&call, 1))
        return APPEND_UNKNOWN;
    return answered(APPEND_STORED, "OK");
}

enum append_result mailbox_append(struct mailbox *mailbox, const struct append *append, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct fault *fault)
{
    set(fault, "IMAP: APPEND");
    struct call call = call_begin(CALL_APPEND);
    if (!call_pass(&call, 0) || !call_pass(&call, 1))
        return APPEND_NOT_SENT;
    if (call.fault == FAULT_REFUSED_BEFORE)
        return refuse_before(&call.dice);
    if (call.fault == FAULT_IMAP_AWAY || mailbox->epoch != epoch || !append->wanted(append->context)) {
        mailbox->broken = true;
        return answered(APPEND_NOT_SENT, "not sent");
    }
    if (flight_count == FLIGHTS)
        abort();
    struct flight *flight = &flights[flight_count++];
    *flight = (struct flight){
        .content = append->pieces[0].iov_base,
        .account = mailbox->account,
        .box = world_box(append->mailbox),
        .internal_date = append->internal_date,
    };
    enum append_result result = send_literal(mailbox, flight);
    if (result == APPEND_STORED) {
        *ret_uidvalidity = 1;
        *ret_uid = flight->uid;
    }
    if (result == APPEND_REFUSED || result == APPEND_LIMIT || result == APPEND_TOOBIG || result == APPEND_OVERQUOTA) {
        world.current->refused = true;
        flight->content->sent_refused |= flight->box == BOX_SENT;
    }
    return result;
}
