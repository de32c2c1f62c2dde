/* SPDX-License-Identifier: ISC
 *
 * src/mailbox/mailbox.h, on mailboxes that are simulated: sessions, and what is stored. */
#include "imap.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "breakage.h"
#include "checker.h"
#include "faults.h"
#include "imap_session.h"
#include "scheduler.h"

#define FLIGHTS 4096

static struct box_content boxes[ACCOUNTS][BOXES];
static struct flight flights[FLIGHTS];
static size_t flight_count;
static bool folder_made[ACCOUNTS];
static unsigned epoch;
static uint32_t next_uid;

void imap_clear(void)
{
    for (unsigned account = 0; account < ACCOUNTS; account++)
        for (unsigned box = 0; box < BOXES; box++)
            boxes[account][box].count = 0;
    memset(folder_made, 0, sizeof(folder_made));
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
        count += it->stored[i].content == content || it->stored[i].content->explains == content ||
                 (by_id && content->message.message_id != NULL && it->stored[i].content->identity == content->identity);
    return count;
}

void imap_store(struct flight *flight)
{
    if (flight->content->verdict != VERDICT_GOOD || (flight->incomplete && breakage != BREAK_INCOMPLETE_IS_STORED))
        return;
    struct box_content *box = &boxes[flight->account][flight->box];
    if (box->count == STORED_MAX)
        abort();
    flight->uid = ++next_uid;
    box->stored[box->count++] = (struct stored){flight->content, flight->internal_date, flight->uid};
    counts.copies++;
    const struct content *explained = flight->content->explains;
    TELL("  (server: %s %u is stored in %s of %s)", explained != NULL ? "the explanation of message" : "message",
         flight->content->number, world_box_name(flight->box), world_account(flight->account));
    checker_stored(explained != NULL ? explained : flight->content, flight->account, flight->box);
}

static void store_late(void *what, uint32_t tag)
{
    (void)tag;
    if (((struct flight *)what)->uid == 0)
        imap_store(what);
}

void imap_leave(struct flight *flight, struct dice *dice, bool certainly)
{
    int64_t max = world.late_max;
    int64_t kind = dice_below(dice, 8);
    if (kind < 3 && !certainly)
        return;
    if (breakage == BREAK_LATER_THAN_HOLD_OFF)
        max = 3 * world.hold_off;
    int64_t after = kind == 3   ? dice_below(dice, 50 * MS)
                    : kind == 4 ? dice_below(dice, 5 * SECOND)
                    : kind == 5 ? max - dice_below(dice, SECOND)
                                : dice_below(dice, max);
    schedule(now + after, store_late, flight, 0);
}

static struct error *set(struct error *error, const char *text)
{
    strcpy(error->text, text);
    return error;
}

/* False: there is no connection, or no answer. */
static bool log_in(void)
{
    struct call call = call_begin(CALL_LOGIN);
    return call_pass(&call, 0) && call_pass(&call, 1) && call.error != ERROR_IMAP_AWAY;
}

struct mailbox *mailbox_open(const struct config *config, const char *account, int64_t limit_ms, struct error *error)
{
    (void)config;
    (void)limit_ms;
    set(error, "IMAP: no connection");
    if (!log_in())
        return NULL;
    struct mailbox *mailbox = base_alloc(sizeof(*mailbox));
    mailbox->account = world_number(account);
    mailbox->epoch = epoch;
    return mailbox;
}

struct mailbox *mailbox_open_again(const struct config *config, const char *account, int64_t limit_ms,
                                   struct error *error)
{
    return mailbox_open(config, account, limit_ms, error);
}

/* The server decides about an early literal whose last byte does not come. */
void mailbox_close(struct mailbox **mailbox)
{
    struct mailbox *it = *mailbox;
    if (it != NULL && it->step == STEP_BEGUN && it->flight != NULL)
        imap_leave(it->flight, &it->call.dice, true);
    base_free(mailbox);
}

void mailbox_close_wait(struct mailbox **mailbox, int64_t ms)
{
    (void)ms;
    mailbox_close(mailbox);
}

struct descriptors mailbox_descriptors(const struct config *config)
{
    (void)config;
    return (struct descriptors){.count = 1, .below = INT_MAX};
}

/* That the server has closed it is mostly known, not always. */
bool mailbox_connected(const struct mailbox *mailbox)
{
    bool there = !mailbox->broken && mailbox->epoch == epoch;
    return !world.current->dead && (there || !error_loss_is_seen());
}

void mailbox_set_account(struct mailbox *mailbox, const char *account)
{
    (void)mailbox, (void)account;
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

enum identity_result mailbox_identity(const struct config *config, const char *account, struct error *error)
{
    struct mailbox *mailbox = mailbox_open(config, account, 0, error);
    if (mailbox == NULL)
        return IDENTITY_UNKNOWN;
    mailbox_close(&mailbox);
    return IDENTITY_COUNTS;
}

bool imap_make(const struct mailbox *mailbox, struct dice *dice)
{
    bool *result = &folder_made[mailbox->account];
    if (world_box(mailbox->append.mailbox) != BOX_FOLDER)
        return true;
    return *result = *result || !dice_percent(dice, world.folders);
}

struct flight *imap_new_flight(const struct mailbox *mailbox)
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
