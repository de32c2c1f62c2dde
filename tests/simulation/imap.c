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

/* A message that the server has received but not stored yet. */
struct flight {
    struct content *content;
    unsigned account;
    enum box box;
    int64_t internal_date;
    uint32_t uid;
};

enum step { STEP_NONE, STEP_BEGUN, STEP_FED, STEP_OVER };

struct mailbox {
    unsigned account;
    unsigned epoch;
    bool broken;
    enum step step; /* of its APPEND: */
    struct append append;
    struct call call; /* begun, or in the literal */
    struct flight *flight;
    enum append_result result; /* STEP_OVER, and ... */
    const char *name;          /* ... how that is told */
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
    if (((struct flight *)what)->uid == 0)
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

void mailbox_close_wait(struct mailbox **mailbox, int64_t ms)
{
    (void)ms;
    mailbox_close(mailbox);
}

/* That the server has closed it is mostly known, not always. */
bool mailbox_connected(const struct mailbox *mailbox)
{
    bool there = !mailbox->broken && mailbox->epoch == epoch;
    return !world.current->dead && (there || !fault_loss_is_seen());
}

unsigned imap_account(const struct mailbox *mailbox)
{
    return mailbox->account;
}

bool imap_is_lost(const struct mailbox *mailbox)
{
    return mailbox->broken || mailbox->epoch != epoch;
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

static void end(struct mailbox *mailbox, enum append_result result, const char *name)
{
    mailbox->step = STEP_OVER;
    mailbox->result = result;
    mailbox->name = name;
}

static void refuse_before(struct mailbox *mailbox)
{
    switch (dice_below(&mailbox->call.dice, 3)) {
    case 0:
        end(mailbox, APPEND_NO_MAILBOX, "NO [TRYCREATE]");
        break;
    case 1:
        mailbox->broken = true;
        end(mailbox, APPEND_LOST, "no '+'");
        break;
    default:
        end(mailbox, APPEND_UNAVAILABLE, "NO before the literal");
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
    if (call->fault == FAULT_APPEND_UNTOLD && flight->uid == 0)
        store(flight);
    else if (call->fault == FAULT_APPEND_LATE)
        leave_to_server(flight, &call->dice, true);
    if (breakage == BREAK_FED_IS_RETRIED)
        return answered(APPEND_LOST, "connection lost");
    (void)answered(APPEND_UNKNOWN, "connection lost");
    return breakage == BREAK_LOST_IS_STORED ? APPEND_STORED : APPEND_UNKNOWN;
}

void mailbox_append_begin(struct mailbox *mailbox, const struct append *append)
{
    struct call call = call_begin(CALL_APPEND);
    mailbox->append = *append;
    mailbox->step = STEP_BEGUN;
    mailbox->flight = NULL;
    mailbox->call = call;
    if (!call_pass(&mailbox->call, 0))
        end(mailbox, APPEND_LOST, "dead");
    else if (breakage == BREAK_FED_BEFORE_HOLD)
        mailbox_append_feed(mailbox, 0);
}

static struct flight *new_flight(const struct mailbox *mailbox)
{
    if (flight_count == FLIGHTS)
        abort();
    struct flight *flight = &flights[flight_count++];
    *flight = (struct flight){
        .content = mailbox->append.pieces[0].iov_base,
        .account = mailbox->account,
        .box = world_box(mailbox->append.mailbox),
        .internal_date = mailbox->append.internal_date,
    };
    return flight;
}

/* Whether the server answers '+' and the message is still wanted. */
static bool ready(struct mailbox *mailbox)
{
    struct call *call = &mailbox->call;
    if (!call_pass(call, 1)) {
        end(mailbox, APPEND_LOST, "dead");
    } else if (call->fault == FAULT_REFUSED_BEFORE) {
        refuse_before(mailbox);
    } else if (call->fault == FAULT_IMAP_AWAY || mailbox->broken || mailbox->epoch != epoch) {
        mailbox->broken = true;
        end(mailbox, APPEND_LOST, "lost before the literal");
    } else if (!mailbox->append.wanted(mailbox->append.context)) {
        mailbox->broken = true;
        end(mailbox, APPEND_NOT_SENT, "no longer wanted");
    }
    return mailbox->step == STEP_BEGUN;
}

/* What is not refused is stored between then and the answer, whatever becomes of the client. */
void mailbox_append_feed(struct mailbox *mailbox, int64_t until_ms)
{
    (void)until_ms;
    if (mailbox->step != STEP_BEGUN || !ready(mailbox))
        return;
    struct flight *flight = mailbox->flight = new_flight(mailbox);
    struct call *call = &mailbox->call;
    *call = call_begin(CALL_LITERAL);
    TELL("sends the message to %s of %s", flight->box == BOX_SENT ? "Sent" : "INBOX", world_account(flight->account));
    if (!call_pass(call, 0)) {
        if (call->fault != FAULT_STOP || call->half != 0) /* otherwise its deadline is the first thing it notices */
            leave_to_server(flight, &call->dice, false);
        end(mailbox, APPEND_UNKNOWN, "dead");
        return;
    }
    mailbox->step = STEP_FED;
    if (call->fault != FAULT_NONE && call->fault != FAULT_STOP && call->fault != FAULT_SESSION_ENDS)
        return;
    if (mailbox->epoch == epoch && dice_percent(&call->dice, 50))
        store(flight);
    else
        leave_to_server(flight, &call->dice, false);
}

/* A stopped process may get the answer when it continues; what was sent is processed. */
static bool stop_behind(struct flight *flight, struct call *call)
{
    bool arrived = flight->uid != 0 || dice_percent(&call->dice, 80);
    if (arrived && flight->uid == 0)
        leave_to_server(flight, &call->dice, true);
    return call_pass(call, 1) && arrived;
}

/* The answer to what was fed. */
static enum append_result answer(struct mailbox *mailbox)
{
    struct flight *flight = mailbox->flight;
    struct call *call = &mailbox->call;
    bool stopped = call->fault == FAULT_STOP && call->half == 1;
    mailbox->step = STEP_OVER;
    if (stopped && !stop_behind(flight, call))
        return lose(mailbox, flight, call);
    if (call->fault >= FAULT_APPEND_LOST && call->fault <= FAULT_APPEND_LATE)
        return lose(mailbox, flight, call);
    if (mailbox->epoch != epoch)
        return lose(mailbox, flight, call);
    if (flight->content->verdict == VERDICT_TOO_BIG)
        return answered(APPEND_TOOBIG, "NO [TOOBIG]");
    if (flight->content->verdict == VERDICT_REFUSED)
        return answered(APPEND_REFUSED, "NO, of the content");
    if (call->fault == FAULT_APPEND_NO)
        return refuse(flight, &call->dice);
    if (!stopped && flight->uid == 0)
        store(flight);
    else if (flight->uid == 0)
        return lose(mailbox, flight, call);
    if (!stopped && !call_pass(call, 1))
        return APPEND_UNKNOWN;
    return answered(APPEND_STORED, "OK");
}

enum append_result mailbox_append(struct mailbox *mailbox, uint32_t *ret_uidvalidity, uint32_t *ret_uid,
                                  struct fault *fault)
{
    set(fault, "IMAP: APPEND");
    mailbox_append_feed(mailbox, 0);
    if (mailbox->step == STEP_OVER)
        return world.current->dead ? mailbox->result : answered(mailbox->result, mailbox->name);
    if (world.current->dead)
        return APPEND_UNKNOWN;
    struct flight *flight = mailbox->flight;
    enum append_result result = answer(mailbox);
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
