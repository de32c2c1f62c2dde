/* SPDX-License-Identifier: ISC
 *
 * The APPEND of src/mailbox/mailbox.h, in steps. */
#include <string.h>

#include "breakage.h"
#include "checker.h"
#include "faults.h"
#include "imap.h"
#include "imap_session.h"
#include "scheduler.h"

static enum append_result replied(enum append_result result, const char *name)
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
    } replies[] = {
        {APPEND_ERROR, "NO"},
        {APPEND_ERROR, "NO"},
        {APPEND_REFUSED, "NO, of the content"},
        {APPEND_LIMIT, "NO [LIMIT]"},
        {APPEND_MAYBE_OVERQUOTA, "NO, of some quota"},
        {APPEND_OVERQUOTA, "NO [OVERQUOTA]"},
        {APPEND_NOPERM, "NO [NOPERM]"},
    };
    size_t which = (size_t)dice_below(dice, (int64_t)(sizeof(replies) / sizeof(replies[0])));
    enum append_result result = replies[which].result;
    if (result < APPEND_STORED && dice_percent(dice, 50))
        imap_store(flight);
    if (breakage == BREAK_ANY_NO_IS_CERTAIN)
        result = APPEND_UNAVAILABLE;
    return replied(result, replies[which].name);
}

/* The connection is lost after the beginning of the literal. */
static enum append_result lose(struct mailbox *mailbox, struct flight *flight, struct call *call)
{
    mailbox->broken = true;
    if (call->error == ERROR_APPEND_UNTOLD && flight->uid == 0)
        imap_store(flight);
    else if (call->error == ERROR_APPEND_LATE)
        imap_leave(flight, &call->dice, true);
    if (breakage == BREAK_FED_IS_RETRIED)
        return replied(APPEND_LOST, "connection lost");
    (void)replied(APPEND_UNKNOWN, "connection lost");
    return breakage == BREAK_LOST_IS_STORED ? APPEND_STORED : APPEND_UNKNOWN;
}

/* An early literal: all but the last byte is sent. The server has that, regardless of its client. */
static void send_early(struct mailbox *mailbox)
{
    struct call *call = &mailbox->call;
    struct flight *flight = mailbox->flight = imap_new_flight(mailbox);
    flight->incomplete = true;
    TELL("sends the message but its last byte to %s of %s", world_box_name(flight->box),
         world_account(flight->account));
    if (call->error != ERROR_DEATH_EARLY)
        return;
    imap_leave(flight, &call->dice, true);
    process_die("killed before the last byte");
    end(mailbox, APPEND_LOST, "dead");
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
        mailbox_append_send(mailbox, 0);
    else if (mailbox->call.error == ERROR_DEATH_EARLY || dice_percent(&mailbox->call.dice, 50))
        send_early(mailbox);
}

/* Whether the server answers '+', if it is to, and the message is still wanted. */
static bool ready(struct mailbox *mailbox)
{
    struct call *call = &mailbox->call;
    if (!call_pass(call, 1)) {
        end(mailbox, APPEND_LOST, "dead");
    } else if (call->error == ERROR_REFUSED_BEFORE) {
        refuse_before(mailbox);
    } else if (call->error == ERROR_IMAP_AWAY || imap_is_lost(mailbox)) {
        mailbox->broken = true;
        end(mailbox, APPEND_LOST, "lost before the literal");
    } else if (!mailbox->append.wanted(mailbox->append.context)) {
        mailbox->broken = true;
        end(mailbox, APPEND_NOT_SENT, "no longer wanted");
    } else if (!imap_make(mailbox, &call->dice)) {
        end(mailbox, APPEND_IMPOSSIBLE, "NO to CREATE");
    }
    return mailbox->step == STEP_BEGUN;
}

/* What is not refused is stored between then and the answer, regardless of the client. */
void mailbox_append_send(struct mailbox *mailbox, int64_t until_ms)
{
    (void)until_ms;
    if (mailbox->step != STEP_BEGUN || !ready(mailbox))
        return;
    struct flight *flight = mailbox->flight = mailbox->flight != NULL ? mailbox->flight : imap_new_flight(mailbox);
    struct call *call = &mailbox->call;
    flight->incomplete = false;
    *call = call_begin(CALL_LITERAL);
    TELL("sends the message to %s of %s", world_box_name(flight->box), world_account(flight->account));
    if (!call_pass(call, 0)) {
        if (call->error != ERROR_STOP || call->half != 0) /* otherwise its deadline is the first thing it notices */
            imap_leave(flight, &call->dice, false);
        end(mailbox, APPEND_UNKNOWN, "dead");
        return;
    }
    mailbox->step = STEP_FED;
    if (call->error != ERROR_NONE && call->error != ERROR_STOP && call->error != ERROR_SESSION_ENDS)
        return;
    if (!imap_is_lost(mailbox) && dice_percent(&call->dice, 50))
        imap_store(flight);
    else
        imap_leave(flight, &call->dice, false);
}

/* A stopped process may get the answer when it continues; what was sent is processed. */
static bool stop_behind(struct flight *flight, struct call *call)
{
    bool arrived = flight->uid != 0 || dice_percent(&call->dice, 80);
    if (arrived && flight->uid == 0)
        imap_leave(flight, &call->dice, true);
    return call_pass(call, 1) && arrived;
}

/* The answer to what was fed. */
static enum append_result reply(struct mailbox *mailbox)
{
    struct flight *flight = mailbox->flight;
    struct call *call = &mailbox->call;
    bool stopped = call->error == ERROR_STOP && call->half == 1;
    mailbox->step = STEP_OVER;
    if (stopped && !stop_behind(flight, call))
        return lose(mailbox, flight, call);
    if (call->error >= ERROR_APPEND_LOST && call->error <= ERROR_APPEND_LATE)
        return lose(mailbox, flight, call);
    if (imap_is_lost(mailbox))
        return lose(mailbox, flight, call);
    if (flight->content->verdict == VERDICT_TOO_BIG)
        return replied(APPEND_TOOBIG, "NO [TOOBIG]");
    if (flight->content->verdict == VERDICT_REFUSED)
        return replied(APPEND_REFUSED, "NO, of the content");
    if (call->error == ERROR_APPEND_NO)
        return refuse(flight, &call->dice);
    if (!stopped && flight->uid == 0)
        imap_store(flight);
    else if (flight->uid == 0)
        return lose(mailbox, flight, call);
    if (!stopped && !call_pass(call, 1))
        return APPEND_UNKNOWN;
    return replied(APPEND_STORED, "OK");
}

enum append_result mailbox_append(struct mailbox *mailbox, uint32_t *ret_uidvalidity, uint32_t *ret_uid,
                                  struct error *error)
{
    strcpy(error->text, "IMAP: APPEND");
    mailbox_append_send(mailbox, 0);
    if (mailbox->step == STEP_OVER)
        return world.current->dead ? mailbox->result : replied(mailbox->result, mailbox->name);
    if (world.current->dead)
        return APPEND_UNKNOWN;
    struct flight *flight = mailbox->flight;
    enum append_result result = reply(mailbox);
    if (result == APPEND_STORED) {
        *ret_uidvalidity = 1;
        *ret_uid = flight->uid;
    }
    if (result == APPEND_REFUSED || result == APPEND_LIMIT || result == APPEND_TOOBIG || result == APPEND_OVERQUOTA) {
        bool quarantined = flight->content->explains != NULL ||
                           (world.config.delivery.refused == REFUSED_QUARANTINE && result < APPEND_STORED);
        world.current->refused |= !quarantined;
        world.contents[flight->content->number].sent_refused |= flight->box == BOX_SENT && !quarantined;
    }
    return result;
}
