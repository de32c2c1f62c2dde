/* SPDX-License-Identifier: ISC
 *
 * Which fault strikes at which call, and how. */
#include "faults.h"

#include "database.h"
#include "imap.h"
#include "key.h"
#include "scheduler.h"

#define POSSIBLE 10

const char *const error_names[ERROR_KINDS] = {
    [ERROR_NONE] = "none",
    [ERROR_DEATH] = "deaths",
    [ERROR_DEADLINE] = "deadlines",
    [ERROR_DEATH_EARLY] = "deaths before the last byte",
    [ERROR_STOP] = "stops",
    [ERROR_SESSION_ENDS] = "sessions ended",
    [ERROR_DATABASE_AWAY] = "sessions lost",
    [ERROR_REPLY_LOST] = "answers lost",
    [ERROR_ROLLED_BACK] = "COMMITs rolled back",
    [ERROR_LATE_COMMIT] = "COMMITs late",
    [ERROR_HOLD_LOST] = "holds lost",
    [ERROR_IMAP_AWAY] = "IMAP sessions lost",
    [ERROR_REFUSED_BEFORE] = "APPENDs refused",
    [ERROR_APPEND_LOST] = "APPENDs lost",
    [ERROR_APPEND_UNTOLD] = "APPENDs stored untold",
    [ERROR_APPEND_LATE] = "APPENDs late",
    [ERROR_APPEND_NO] = "APPENDs answered NO",
    [ERROR_SEARCH_FAILED] = "searches failed",
    [ERROR_SEARCH_MISSES] = "searches that missed",
    [ERROR_DECODER] = "decoders failed",
    [ERROR_READER_GONE] = "Postfix stopped",
    [ERROR_PROMOTION] = "replicas promoted",
    [ERROR_DATABASE_RESTART] = "database restarts",
    [ERROR_IMAP_RESTART] = "IMAP server restarts",
    [ERROR_HOST_CRASH] = "hosts crashed",
    [ERROR_CLOCK_JUMP] = "clock jumps",
};
uint64_t error_counts[ERROR_KINDS];
bool error_off[FAULTS], error_struck[FAULTS];

/* What can go wrong at each kind of call. */
static const enum error_kind possible[CALL_KINDS][POSSIBLE] = {
    [CALL_DECODE] = {ERROR_DEATH, ERROR_STOP, ERROR_DECODER},
    [CALL_LOOKUP] = {ERROR_DEATH, ERROR_STOP, ERROR_DATABASE_AWAY},
    [CALL_CONNECT] = {ERROR_DEATH, ERROR_STOP, ERROR_DATABASE_AWAY},
    [CALL_LOOK] = {ERROR_DEATH, ERROR_STOP, ERROR_SESSION_ENDS, ERROR_DATABASE_AWAY, ERROR_REPLY_LOST,
                   ERROR_READER_GONE},
    [CALL_CLAIM] = {ERROR_DEATH, ERROR_STOP, ERROR_SESSION_ENDS, ERROR_DATABASE_AWAY, ERROR_REPLY_LOST,
                    ERROR_ROLLED_BACK, ERROR_LATE_COMMIT, ERROR_HOLD_LOST},
    [CALL_HOLD] = {ERROR_DEATH, ERROR_DEADLINE, ERROR_STOP, ERROR_SESSION_ENDS, ERROR_READER_GONE},
    [CALL_SETTLE] = {ERROR_DEATH, ERROR_DEADLINE, ERROR_STOP, ERROR_DATABASE_AWAY, ERROR_REPLY_LOST, ERROR_ROLLED_BACK,
                     ERROR_LATE_COMMIT},
    [CALL_LOGIN] = {ERROR_DEATH, ERROR_STOP, ERROR_SESSION_ENDS, ERROR_IMAP_AWAY},
    [CALL_SEARCH] = {ERROR_DEATH, ERROR_DEADLINE, ERROR_STOP, ERROR_SESSION_ENDS, ERROR_SEARCH_FAILED,
                     ERROR_SEARCH_FAILED, ERROR_SEARCH_MISSES, ERROR_SEARCH_MISSES},
    [CALL_APPEND] = {ERROR_DEATH, ERROR_DEATH_EARLY, ERROR_STOP, ERROR_SESSION_ENDS, ERROR_IMAP_AWAY,
                     ERROR_REFUSED_BEFORE, ERROR_READER_GONE},
    [CALL_LITERAL] = {ERROR_DEATH, ERROR_DEADLINE, ERROR_STOP, ERROR_SESSION_ENDS, ERROR_APPEND_LOST,
                      ERROR_APPEND_UNTOLD, ERROR_APPEND_LATE, ERROR_APPEND_NO, ERROR_APPEND_NO},
};

static unsigned error_id(const struct process *process, int which)
{
    return (process->job->number * TRIES + process->number % TRIES) * FAULTS_OF_A_TRY + (unsigned)which;
}

void errors_plan(struct process *process)
{
    struct dice *dice = &process->error_dice;
    int steps = 8 + 3 * (int)process->job->count; /* about the number it takes if all goes well */
    for (int i = 0; i < FAULTS_OF_A_TRY; i++) {
        process->error_at[i] = 0;
        bool planned = !process->job->calm && (i == 0 || dice_percent(dice, 40));
        int step = (int)dice_between(dice, 1, dice_percent(dice, 30) ? 6 : steps);
        if (planned && !error_off[error_id(process, i)])
            process->error_at[i] = step;
    }
}

static void count(enum error_kind error)
{
    struct process *process = world.current;
    error_counts[error]++;
    if (!process->struck) {
        process->struck = true;
        counts.struck++;
    }
}

/* A server that stalls may commit after the sender's lease has run out. */
static int64_t lateness(struct dice *dice)
{
    return dice_below(dice, dice_percent(dice, 50) ? SECOND : 2 * world.config.delivery.deadline * MS);
}

static void strike(struct call *call, enum call_kind kind, int which)
{
    struct process *process = world.current;
    unsigned id = error_id(process, which);
    size_t n = 0;
    while (n < POSSIBLE && possible[kind][n] != ERROR_NONE)
        n++;
    call->dice = dice_of(world.seed, world.episode, (UINT64_C(1) << 32) + id);
    call->error = possible[kind][dice_below(&call->dice, (int64_t)n)];
    call->half = (int)dice_below(&call->dice, 2);
    if (call->error == ERROR_LATE_COMMIT)
        call->late_by = lateness(&call->dice);
    process->error_at[which] = 0;
    error_struck[id] = true;
    count(call->error);
    TELL("(fault: %s)", error_names[call->error]);
}

/* Mostly short, sometimes so long that the deadline is near. */
static int64_t duration(struct process *process)
{
    struct dice *dice = &process->dice;
    int64_t kind = dice_below(dice, 256);
    if (process->job->calm || kind < 200)
        return dice_between(dice, 100, 20 * MS);
    if (kind < 248)
        return dice_between(dice, 100, 500 * MS);
    return dice_between(dice, 100, kind == 255 ? world.config.delivery.deadline * MS / 2 : 5 * SECOND);
}

struct call call_begin(enum call_kind kind)
{
    struct process *process = world.current;
    struct call call = {.error = ERROR_NONE};
    if (process->dead)
        return call;
    if (kind != CALL_DECODE || dice_percent(&process->dice, 20)) /* uninteresting: nothing has been done yet */
        process->step++;
    call.time[0] = duration(process);
    call.time[1] = duration(process);
    call.dice = dice_of(dice_next(&process->dice), 0, 0);
    for (int i = 0; i < FAULTS_OF_A_TRY; i++)
        if (process->error_at[i] == process->step && process->step > 0 && call.error == ERROR_NONE)
            strike(&call, kind, i);
    return call;
}

void call_last(struct call *call, enum call_kind kind)
{
    struct process *process = world.current;
    if (process->dead || process->struck || call->error != ERROR_NONE || process->error_at[0] == 0)
        return;
    strike(call, kind, 0);
    call->half = 1;
}

bool call_claims_if_new(void)
{
    return dice_percent(&world.current->dice, 50);
}

bool error_loss_is_seen(void)
{
    return dice_percent(&world.current->dice, 75);
}

static bool stop(struct call *call)
{
    struct process *process = world.current;
    int64_t deadline = world.config.delivery.deadline * MS;
    int64_t max = dice_percent(&call->dice, 50) ? 10 * SECOND : deadline + deadline / 4;
    int64_t time = dice_between(&call->dice, SECOND, max);
    if (dice_percent(&call->dice, 10))
        time = 2 * world.hold_off;
    TELL("stopped for %.3f s", (double)time / SECOND);
    if (dice_percent(&call->dice, 50))
        database_end_session_of(process, dice_between(&call->dice, 0, time < deadline ? time : deadline));
    else if (time > deadline && world.config.lock.method != LOCK_METHOD_SESSION)
        database_end_session_of(process, deadline); /* idle_in_transaction_session_timeout */
    return process_stop(time);
}

bool call_pass(struct call *call, int half)
{
    struct process *process = world.current;
    if (process->dead)
        return false;
    if (call->half == half) {
        switch (call->error) {
        case ERROR_DEATH:
            if (process_sleep(dice_below(&call->dice, call->time[half] + 1)))
                process_die("killed");
            return false;
        case ERROR_DEADLINE:
            return process_stop(process->deadline_at > now ? process->deadline_at - now : 0) ||
                   process_sleep(call->time[half]);
        case ERROR_STOP:
            return stop(call) && process_sleep(call->time[half]);
        case ERROR_SESSION_ENDS:
            database_end_session_of(process, 0);
            break;
        case ERROR_READER_GONE:
            process->peer_closed = true;
            break;
        default:
            break;
        }
    }
    return process_sleep(call->time[half]);
}

/* A clock is set, or set right. Between hosts, either theirs or the database's. */
static void jump(struct dice *dice, unsigned host)
{
    int64_t max = dice_percent(dice, 50) ? 3600 : 100000;
    int64_t ahead = dice_percent(dice, 30) ? 0 : dice_between(dice, -max, max) * SECOND;
    if (world.one_host || world.database_jumps)
        database_set_clock(ahead);
    if (world.one_host || !world.database_jumps)
        world.host_clock[host] = ahead;
    TELL("(a clock is %.0f s ahead)", (double)ahead / SECOND);
}

static void happen(void *what, uint32_t id)
{
    struct dice dice = dice_of(world.seed, world.episode, (UINT64_C(2) << 32) + id);
    enum error_kind error = (enum error_kind)dice_between(&dice, ERROR_PROMOTION, ERROR_CLOCK_JUMP);
    unsigned host = world.one_host ? 0 : (unsigned)dice_below(&dice, HOSTS);
    (void)what;
    error_struck[id] = true;
    error_counts[error]++;
    TELL("(fault: %s)", error_names[error]);
    switch (error) {
    case ERROR_PROMOTION:
        database_end_all(&dice, true);
        break;
    case ERROR_DATABASE_RESTART:
        database_end_all(&dice, false);
        break;
    case ERROR_IMAP_RESTART:
        imap_restart();
        break;
    case ERROR_CLOCK_JUMP:
        jump(&dice, host);
        break;
    default:
        world.host_boot[host]++;
        world.host_start[host] = now;
        for (size_t i = 0; i < PROCESSES; i++)
            if (world.processes[i].coroutine != NULL && world.processes[i].job->host == host &&
                !world.processes[i].dead)
                process_kill(&world.processes[i], "its host is down");
    }
}

void errors_plan_troubles(int64_t until)
{
    struct dice dice = dice_of(world.seed, world.episode, UINT64_C(3) << 32);
    int64_t planned = dice_percent(&dice, 60) ? 0 : dice_below(&dice, TROUBLES);
    for (uint32_t i = 0; i < planned; i++) {
        uint32_t id = FAULTS - TROUBLES + i;
        int64_t at = dice_below(&dice, until);
        if (!error_off[id])
            schedule(at, happen, NULL, id);
    }
}
