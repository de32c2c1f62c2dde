/* SPDX-License-Identifier: ISC
 *
 * With the ledger of tests/simulation, in which nothing goes wrong unless requested, and only waiting for a lock takes
 * time. This is its scheduler, with one process that runs until it waits, and its faults. */
#include "differential/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/breakage.h"
#include "simulation/client.h"
#include "simulation/scheduler.h"

#define EVENTS 64
#define LATE (INT64_MAX / 2) /* the time of a late batch, unless it is let in */

const char *const fixture_fate_names[] = {
    [FIXTURE_LOST] = "lost",
    [FIXTURE_UNREPORTED] = "executed, but not answered",
    [FIXTURE_ROLLED_BACK] = "rolled back",
    [FIXTURE_LATE] = "late",
};

struct event {
    int64_t at;
    void (*happen)(void *, uint32_t);
    void *what;
};

int64_t now;
static struct event events[EVENTS]; /* in their order */
static size_t event_count;
static struct process process;
static struct ledger *ledgers[SESSIONS];
static struct session *strangers[STRANGERS];
static struct batch *asked[STRANGERS];
static enum fixture_fate fate;
static int fate_count;

void schedule(int64_t at, void (*happen)(void *what, uint32_t tag), void *what, uint32_t tag)
{
    size_t i = event_count++;
    (void)tag;
    if (event_count > EVENTS)
        abort();
    for (; i > 0 && events[i - 1].at > at; i--)
        events[i] = events[i - 1];
    events[i] = (struct event){at, happen, what};
}

static void next_event(void)
{
    const struct event event = events[0];
    memmove(events, events + 1, --event_count * sizeof(events[0]));
    now = event.at;
    event.happen(event.what, 0);
}

bool process_wait(void)
{
    if (event_count == 0)
        abort();
    next_event();
    return true;
}

bool process_sleep(int64_t us)
{
    now += us;
    return true;
}

void process_wake(struct process *it)
{
    (void)it;
}

void process_die(const char *why)
{
    (void)why;
    abort();
}

/* Whether the next batch has this fate; if so, uses it up once. */
static enum error_kind take_error(enum call_kind kind)
{
    static const enum error_kind errors[] = {
        [FIXTURE_LOST] = ERROR_DATABASE_AWAY,
        [FIXTURE_UNREPORTED] = ERROR_REPLY_LOST,
        [FIXTURE_ROLLED_BACK] = ERROR_ROLLED_BACK,
        [FIXTURE_LATE] = ERROR_LATE_COMMIT,
    };
    if (fate_count == 0 || (kind != CALL_LOOK && kind != CALL_CLAIM && kind != CALL_SETTLE))
        return ERROR_NONE;
    fate_count--;
    return errors[fate];
}

struct call call_begin(enum call_kind kind)
{
    return (struct call){.error = take_error(kind), .late_by = LATE};
}

bool call_pass(struct call *call, int half)
{
    (void)call;
    (void)half;
    return true;
}

void call_last(struct call *call, enum call_kind kind)
{
    (void)call;
    (void)kind;
}

bool call_claims_if_new(void)
{
    return true;
}

bool error_loss_is_seen(void)
{
    return true;
}

bool fixture_open(const struct config *config)
{
    const char *where = config->database.conninfo;
    world.current = &process;
    process.dice = dice_of(1, 1, 1);
    return where[0] == '\0' || breakage_set(where);
}

void fixture_close(void)
{
}

void fixture_begin(struct ledger *const the_ledgers[SESSIONS])
{
    for (size_t i = 0; i < SESSIONS; i++)
        the_ledgers[i]->session = NULL;
    event_count = 0;
    now = 0;
    database_clear();
    tables_clear();
    for (size_t i = 0; i < SESSIONS; i++)
        fixture_replace(i, the_ledgers[i]);
    for (size_t i = 0; i < STRANGERS; i++) {
        strangers[i] = database_connect();
        asked[i] = NULL;
    }
}

void fixture_replace(size_t session, struct ledger *ledger)
{
    struct error error;
    ledgers[session] = ledger;
    if (!client_connect(ledger, &error))
        abort();
}

void fixture_forget_known(size_t session)
{
    (void)session;
}

void fixture_set_fate(enum fixture_fate the_fate, int count)
{
    fate = the_fate;
    fate_count = count;
}

/* The last one, or NULL. */
static const struct event *late_event(void)
{
    return event_count > 0 && events[event_count - 1].at >= LATE ? &events[event_count - 1] : NULL;
}

bool fixture_late(void)
{
    return late_event() != NULL;
}

void fixture_late_comes(void)
{
    const struct event event = *late_event();
    event_count--;
    event.happen(event.what, 0);
    fixture_work();
}

/* A batch that waits for a lock gives up after a second at the earliest. */
void fixture_work(void)
{
    while (event_count > 0 && events[0].at < now + SECOND)
        next_event();
}

bool fixture_waits(size_t session)
{
    const struct session *it = ledgers[session]->session;
    return it != NULL && it->running != NULL && it->running->waits;
}

void fixture_kill(size_t session)
{
    struct ledger *ledger = ledgers[session];
    const struct event *it = late_event();
    bool is_late = it != NULL && ((const struct batch *)it->what)->session == ledger->session;
    if (is_late)
        ledger->session = NULL; /* the database does not know it yet */
    else if (ledger->session != NULL)
        database_end_session(ledger->session);
    fixture_work();
}

/* This takes no time for those who wait. */
void fixture_pass(int hours)
{
    database_pass(hours * HOUR_MS * MS);
}

/* Its batch consists of the hold only. */
bool fixture_stranger_asks(size_t stranger, const struct ledger_message *message)
{
    uint64_t lock = client_lock(ledgers[0], message);
    if (ledgers[0]->config->lock.method == LOCK_METHOD_SESSION)
        return database_take_lease(lock, database_owner(strangers[stranger]), client_lease(ledgers[0]));
    struct batch *batch = database_batch();
    batch->session = strangers[stranger];
    batch->statements.is_claim = true;
    batch->lock = lock;
    batch->held_count = 1;
    batch->hold_wait = LATE / 2;
    database_send(batch, 0);
    asked[stranger] = batch;
    fixture_work();
    return true;
}

bool fixture_stranger_waits(size_t stranger)
{
    return asked[stranger] != NULL && asked[stranger]->waits;
}

void fixture_stranger_leaves(size_t stranger)
{
    database_end_session(strangers[stranger]);
    strangers[stranger] = database_connect();
    asked[stranger] = NULL;
    fixture_work();
}

static struct fixture_copy copy_of(const struct row *row)
{
    return (struct fixture_copy){
        .state = (enum copy_state)row->state,
        .role = (enum copy_role)row->place.role,
        .doubt = row->doubt,
        .error = row->error,
        .generation = row->generation,
        .repeated = row->repeated,
        .hours = (database_clock() - row->attempt_at) / (HOUR_MS * MS),
        .first_hours = (database_clock() - row->first_at) / (HOUR_MS * MS),
        .token = row->token,
        .owner = row->claimed_by,
        .uidvalidity = row->uidvalidity,
        .uid = row->uid,
    };
}

static void read_delivery(const struct delivery_row *row, struct fixture_delivery *ret)
{
    *ret = (struct fixture_delivery){.there = true,
                                     .finished = row->finished,
                                     .complete = row->complete,
                                     .tries = row->tries};
    snprintf(ret->outcome, sizeof(ret->outcome), "%s", row->outcome);
}

void fixture_read(const struct ledger_message *content, struct fixture_record *ret)
{
    struct key key = client_key(content);
    const struct message_row *message = tables_message(key);
    if (message == NULL)
        return;
    ret->known = true;
    ret->received_at = message->received_at;
    for (uint8_t i = 0; i < ADDRESSES_MAX; i++) {
        const struct delivery_row *row = tables_delivery(key, i);
        if (row != NULL)
            read_delivery(row, &ret->deliveries[i]);
    }
    for (uint8_t i = 0; i < ACCOUNTS_MAX; i++)
        for (uint8_t sent = 0; sent < 2; sent++) {
            const struct row *row = tables_row(key, (struct place){i, sent ? BOX_SENT : BOX_INBOX, COPY_INBOX});
            if (row != NULL)
                ret->copies[i][sent] = copy_of(row);
        }
}
