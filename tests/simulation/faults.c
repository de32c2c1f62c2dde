/* SPDX-License-Identifier: ISC
 *
 * Which fault strikes at which call, and how. */
#include "faults.h"

#include "database.h"
#include "imap.h"
#include "key.h"
#include "scheduler.h"

#define POSSIBLE 10

const char *const fault_names[FAULT_KINDS] = {
    [FAULT_NONE] = "none",
    [FAULT_DEATH] = "deaths",
    [FAULT_DEADLINE] = "deadlines",
    [FAULT_STOP] = "stops",
    [FAULT_SESSION_ENDS] = "sessions ended",
    [FAULT_DATABASE_AWAY] = "sessions lost",
    [FAULT_ANSWER_LOST] = "answers lost",
    [FAULT_ROLLED_BACK] = "COMMITs rolled back",
    [FAULT_LATE_COMMIT] = "COMMITs late",
    [FAULT_HOLD_LOST] = "holds lost",
    [FAULT_IMAP_AWAY] = "IMAP sessions lost",
    [FAULT_REFUSED_BEFORE] = "APPENDs refused",
    [FAULT_APPEND_LOST] = "APPENDs lost",
    [FAULT_APPEND_UNTOLD] = "APPENDs stored untold",
    [FAULT_APPEND_LATE] = "APPENDs late",
    [FAULT_APPEND_NO] = "APPENDs answered NO",
    [FAULT_SEARCH_FAILED] = "searches failed",
    [FAULT_SEARCH_MISSES] = "searches that missed",
    [FAULT_DECODER] = "decoders failed",
    [FAULT_READER_GONE] = "Postfix stopped",
    [FAULT_PROMOTION] = "replicas promoted",
    [FAULT_DATABASE_RESTART] = "database restarts",
    [FAULT_IMAP_RESTART] = "IMAP server restarts",
    [FAULT_HOST_CRASH] = "hosts crashed",
    [FAULT_CLOCK_JUMP] = "clock jumps",
};
uint64_t fault_counts[FAULT_KINDS];
bool fault_off[FAULTS], fault_struck[FAULTS];

/* What can go wrong at each kind of call. */
static const enum fault_kind possible[CALL_KINDS][POSSIBLE] = {
    [CALL_DECODE] = {FAULT_DEATH, FAULT_STOP, FAULT_DECODER},
    [CALL_LOOKUP] = {FAULT_DEATH, FAULT_STOP, FAULT_DATABASE_AWAY},
    [CALL_CONNECT] = {FAULT_DEATH, FAULT_STOP, FAULT_DATABASE_AWAY},
    [CALL_LOOK] = {FAULT_DEATH, FAULT_STOP, FAULT_SESSION_ENDS, FAULT_DATABASE_AWAY, FAULT_ANSWER_LOST,
                   FAULT_READER_GONE},
    [CALL_CLAIM] = {FAULT_DEATH, FAULT_STOP, FAULT_SESSION_ENDS, FAULT_DATABASE_AWAY, FAULT_ANSWER_LOST,
                    FAULT_ROLLED_BACK, FAULT_LATE_COMMIT, FAULT_HOLD_LOST},
    [CALL_HOLD] = {FAULT_DEATH, FAULT_DEADLINE, FAULT_STOP, FAULT_SESSION_ENDS, FAULT_READER_GONE},
    [CALL_SETTLE] = {FAULT_DEATH, FAULT_DEADLINE, FAULT_STOP, FAULT_DATABASE_AWAY, FAULT_ANSWER_LOST, FAULT_ROLLED_BACK,
                     FAULT_LATE_COMMIT},
    [CALL_LOGIN] = {FAULT_DEATH, FAULT_STOP, FAULT_SESSION_ENDS, FAULT_IMAP_AWAY},
    [CALL_SEARCH] = {FAULT_DEATH, FAULT_DEADLINE, FAULT_STOP, FAULT_SESSION_ENDS, FAULT_SEARCH_FAILED,
                     FAULT_SEARCH_FAILED, FAULT_SEARCH_MISSES, FAULT_SEARCH_MISSES},
    [CALL_APPEND] = {FAULT_DEATH, FAULT_STOP, FAULT_SESSION_ENDS, FAULT_IMAP_AWAY, FAULT_REFUSED_BEFORE,
                     FAULT_READER_GONE},
    [CALL_LITERAL] = {FAULT_DEATH, FAULT_DEADLINE, FAULT_STOP, FAULT_SESSION_ENDS, FAULT_APPEND_LOST,
                      FAULT_APPEND_UNTOLD, FAULT_APPEND_LATE, FAULT_APPEND_NO, FAULT_APPEND_NO},
};

static unsigned fault_id(const struct process *process, int which)
{
    return (process->job->number * TRIES + process->number % TRIES) * FAULTS_OF_A_TRY + (unsigned)which;
}

void faults_plan(struct process *process)
{
    struct dice *dice = &process->fault_dice;
    int steps = 8 + 3 * (int)process->job->count; /* about as many as it takes if all goes well */
    for (int i = 0; i < FAULTS_OF_A_TRY; i++) {
        process->fault_at[i] = 0;
        bool planned = !process->job->calm && (i == 0 || dice_percent(dice, 40));
        int step = (int)dice_between(dice, 1, dice_percent(dice, 30) ? 6 : steps);
        if (planned && !fault_off[fault_id(process, i)])
            process->fault_at[i] = step;
    }
}

static void count(enum fault_kind fault)
{
    struct process *process = world.current;
    fault_counts[fault]++;
    if (!process->struck) {
        process->struck = true;
        counts.struck++;
    }
}

/* A server that stalls may commit when the lease of whoever sent it has run out. */
static int64_t lateness(struct dice *dice)
{
    return dice_below(dice, dice_percent(dice, 50) ? SECOND : 2 * world.config.delivery.deadline * MS);
}

static void strike(struct call *call, enum call_kind kind, int which)
{
    struct process *process = world.current;
    unsigned id = fault_id(process, which);
    size_t n = 0;
    while (n < POSSIBLE && possible[kind][n] != FAULT_NONE)
        n++;
    call->dice = dice_of(world.seed, world.episode, (UINT64_C(1) << 32) + id);
    call->fault = possible[kind][dice_below(&call->dice, (int64_t)n)];
    call->half = (int)dice_below(&call->dice, 2);
    if (call->fault == FAULT_LATE_COMMIT)
        call->late_by = lateness(&call->dice);
    process->fault_at[which] = 0;
    fault_struck[id] = true;
    count(call->fault);
    TELL("(fault: %s)", fault_names[call->fault]);
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
    struct call call = {.fault = FAULT_NONE};
    if (process->dead)
        return call;
    if (kind != CALL_DECODE || dice_percent(&process->dice, 20)) /* uninteresting: nothing has been done yet */
        process->step++;
    call.time[0] = duration(process);
    call.time[1] = duration(process);
    call.dice = dice_of(dice_next(&process->dice), 0, 0);
    for (int i = 0; i < FAULTS_OF_A_TRY; i++)
        if (process->fault_at[i] == process->step && process->step > 0 && call.fault == FAULT_NONE)
            strike(&call, kind, i);
    return call;
}

void call_last(struct call *call, enum call_kind kind)
{
    struct process *process = world.current;
    if (process->dead || process->struck || call->fault != FAULT_NONE || process->fault_at[0] == 0)
        return;
    strike(call, kind, 0);
    call->half = 1;
}

bool fault_loss_is_seen(void)
{
    return dice_percent(&world.current->dice, 75);
}

static bool stop(struct call *call)
{
    struct process *process = world.current;
    int64_t deadline = world.config.delivery.deadline * MS;
    int64_t most = dice_percent(&call->dice, 50) ? 10 * SECOND : deadline + deadline / 4;
    int64_t time = dice_between(&call->dice, SECOND, most);
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
        switch (call->fault) {
        case FAULT_DEATH:
            if (process_sleep(dice_below(&call->dice, call->time[half] + 1)))
                process_die("killed");
            return false;
        case FAULT_DEADLINE:
            return process_stop(process->deadline_at > now ? process->deadline_at - now : 0) ||
                   process_sleep(call->time[half]);
        case FAULT_STOP:
            return stop(call) && process_sleep(call->time[half]);
        case FAULT_SESSION_ENDS:
            database_end_session_of(process, 0);
            break;
        case FAULT_READER_GONE:
            process->reader_gone = true;
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
    int64_t most = dice_percent(dice, 50) ? 3600 : 100000;
    int64_t ahead = dice_percent(dice, 30) ? 0 : dice_between(dice, -most, most) * SECOND;
    if (world.one_host || world.database_jumps)
        database_set_clock(ahead);
    if (world.one_host || !world.database_jumps)
        world.host_clock[host] = ahead;
    TELL("(a clock is %.0f s ahead)", (double)ahead / SECOND);
}

static void happen(void *what, uint32_t id)
{
    struct dice dice = dice_of(world.seed, world.episode, (UINT64_C(2) << 32) + id);
    enum fault_kind fault = (enum fault_kind)dice_between(&dice, FAULT_PROMOTION, FAULT_CLOCK_JUMP);
    unsigned host = world.one_host ? 0 : (unsigned)dice_below(&dice, HOSTS);
    (void)what;
    fault_struck[id] = true;
    fault_counts[fault]++;
    TELL("(fault: %s)", fault_names[fault]);
    switch (fault) {
    case FAULT_PROMOTION:
        database_end_all(&dice, true);
        break;
    case FAULT_DATABASE_RESTART:
        database_end_all(&dice, false);
        break;
    case FAULT_IMAP_RESTART:
        imap_restart();
        break;
    case FAULT_CLOCK_JUMP:
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

void faults_plan_troubles(int64_t until)
{
    struct dice dice = dice_of(world.seed, world.episode, UINT64_C(3) << 32);
    int64_t planned = dice_percent(&dice, 60) ? 0 : dice_below(&dice, TROUBLES);
    for (uint32_t i = 0; i < planned; i++) {
        uint32_t id = FAULTS - TROUBLES + i;
        int64_t at = dice_below(&dice, until);
        if (!fault_off[id])
            schedule(at, happen, NULL, id);
    }
}
