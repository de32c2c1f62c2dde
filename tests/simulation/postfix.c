/* SPDX-License-Identifier: ISC
 *
 * The tries of a job, until its recipients are finished. */
#include "postfix.h"

#include <string.h>

#include "checker.h"
#include "client.h"
#include "coroutine.h"
#include "scheduler.h"

static void plan_next(struct job *job);

static bool peer_closed(void *context)
{
    (void)context;
    return world.current->peer_closed;
}

static struct worker *idle_worker(unsigned host)
{
    for (size_t i = 0; i < 2; i++)
        if (!world.workers[host][i].busy)
            return &world.workers[host][i];
    return NULL;
}

/* Gives it a ledger and sessions: those of a worker, or new ones. */
static void equip(struct process *process)
{
    struct error error;
    struct job *job = process->job;
    process->worker = job->kind == JOB_LMTP ? idle_worker(job->host) : NULL;
    struct worker *worker = process->worker;
    if (worker != NULL)
        worker->busy = true;
    bool kept = worker != NULL && worker->ledger != NULL;
    process->ledger = kept ? worker->ledger : ledger_open(&world.config, NULL, &error);
    process->sessions = kept ? worker->sessions : sessions_new(&world.config, 1);
    if (worker != NULL) {
        worker->ledger = process->ledger;
        worker->sessions = process->sessions;
    }
}

static void put_away(struct process *process)
{
    if (process->worker != NULL)
        process->worker->busy = false;
    if (process->worker != NULL && !process->dead)
        return;
    if (process->worker != NULL)
        *process->worker = (struct worker){.busy = false};
    ledger_close(&process->ledger);
    sessions_free(&process->sessions);
}

/* Takes the message, for the remaining recipients. */
static void take_job(struct process *process)
{
    struct job *job = process->job;
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (job->done[i])
            continue;
        process->place[count] = i;
        process->recipients[count++] = (struct delivery_recipient){.address = world_address(job->addresses[i])};
    }
    bool local = job->content->sender != NO_SENDER;
    process->delivery = (struct delivery){.request = &process->request, .ledger = process->ledger};
    process->request = (struct delivery_request){
        .config = &world.config,
        .sessions = process->sessions,
        .message = &job->content->message,
        .sender = "",
        .queue_id = NULL,
        .sasl_user = local ? world_address(job->content->sender) : "",
        .only_login = job->own_login ? world_account(world_account_of(job->addresses[0])) : NULL,
        .complete = job->kind != JOB_PIPE,
        .redeliver = job->again,
        .peer_closed = job->kind == JOB_PIPE ? peer_closed : NULL,
        .recipients = process->recipients,
        .recipient_count = count,
    };
    if (job->again == REDELIVER_FORCE)
        job->content->forced++;
}

static void count_reply(const struct report *report)
{
    counts.replies++;
    counts.stored += report->outcome == OUTCOME_STORED;
    counts.duplicates += report->outcome == OUTCOME_DUPLICATE;
    counts.busy += report->outcome == OUTCOME_BUSY;
    const struct outcome_row *row = outcome_row(report->outcome);
    counts.deferred += !row->final && report->outcome != OUTCOME_BUSY;
    counts.bounced += row->final && row->exit_status != 0;
}

/* A process that has died answers nothing. */
static void take_replies(struct process *process)
{
    struct job *job = process->job;
    checker_reply(process);
    for (size_t i = 0; i < process->request.recipient_count; i++) {
        const struct report *report = &process->delivery.replies[i].report;
        TELL("tells %s: %s (%s)", process->recipients[i].address, outcome_row(report->outcome)->status, report->text);
        count_reply(report);
        if (!outcome_row(report->outcome)->final)
            continue;
        job->done[process->place[i]] = true;
        job->open--;
        if (outcome_row(report->outcome)->exit_status != 0)
            job->content->bounced = true;
    }
}

static void deliver(void *context)
{
    struct process *process = context;
    struct job *job = process->job;
    struct error error;
    equip(process);
    take_job(process);
    counts.deliveries++;
    TELL("begins: message %u for %s%s", job->content->number, process->recipients[0].address,
         process->request.recipient_count > 1 ? " and others" : "");
    if (job->kind == JOB_LMTP)
        delivery_begin(&process->delivery, &error);
    delivery_run(&process->delivery);
    if (!process->dead)
        take_replies(process);
    delivery_clear(&process->delivery);
    put_away(process);
    if (world.violation.kind == NULL)
        plan_next(job);
}

bool try_off[JOBS][TRIES];

static void begin(void *what, uint32_t tag)
{
    struct job *job = what;
    if (try_off[job->number][job->tries % TRIES]) {
        job->tries++;
        plan_next(job);
        return;
    }
    struct process *process = &world.processes[job->number];
    uint32_t wake_tag = process->tag + 1;
    (void)tag;
    memset(process, 0, offsetof(struct process, delivery));
    process->tag = wake_tag;
    process->job = job;
    process->number = job->tries++;
    process->deadline_at = NEVER;
    process->dice = dice_of(world.seed, world.episode, ((uint64_t)(job->number + 16) << 32) + process->number);
    process->error_dice = dice_of(world.seed, world.episode, ((uint64_t)(job->number + 64) << 32) + process->number);
    errors_plan(process);
    process->coroutine = coroutine_new(deliver, process);
    process_run(process);
}

static int64_t pause(struct job *job)
{
    struct dice *dice = &job->dice;
    int64_t kind = dice_below(dice, 8);
    if (job->calm)
        return dice_between(dice, world.hold_off / 3, world.hold_off + world.hold_off / 8);
    if (kind < 3)
        return dice_between(dice, 0, SECOND);
    if (kind < 5)
        return dice_between(dice, 0, 60 * SECOND);
    return kind == 5 ? world.hold_off + dice_between(dice, -SECOND, SECOND) : dice_below(dice, world.hold_off * 5 / 4);
}

static void too_long(void *what, uint32_t tag)
{
    (void)what;
    (void)tag;
    if (world.open_jobs > 0)
        world_violation("stuck", "nothing goes wrong any more, and %zu messages are still not delivered",
                        world.open_jobs);
}

/* From now on there are no faults, and everything must end within a few hold-offs. */
static void calm_down(void)
{
    int64_t refused = (world.config.delivery.refuse_after + world.config.delivery.sent_expire_after) * MS;
    schedule(now + 6 * world.hold_off + 2 * world.config.delivery.deadline * MS + refused, too_long, NULL, 0);
}

static void plan_next(struct job *job)
{
    bool over = job->open == 0;
    world.open_jobs -= over;
    if (!job->calm && (over || job->tries >= job->faulty_tries)) {
        job->calm = true;
        if (++world.calm_jobs == world.job_count)
            calm_down();
    }
    if (!over)
        schedule(now + pause(job), begin, job, 0);
}

void postfix_begin(void)
{
    for (size_t i = 0; i < world.job_count; i++) {
        struct job *job = &world.jobs[i];
        job->open = job->off ? 0 : job->count;
        if (job->off)
            plan_next(job);
        else
            schedule(job->start, begin, job, 0);
    }
}

void postfix_died(struct process *process)
{
    static const int64_t max[] = {1, 20 * MS, SECOND, 0};
    int64_t limit = max[dice_below(&process->dice, 4)];
    limit = limit != 0 ? limit : world.config.delivery.deadline * MS;
    if (process->ledger != NULL)
        ledger_died(process->ledger, dice_below(&process->dice, limit));
}

void postfix_end(void)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (world.processes[i].coroutine != NULL) {
            world.processes[i].dead = true;
            process_run(&world.processes[i]);
        }
    for (size_t host = 0; host < HOSTS; host++)
        for (size_t i = 0; i < 2; i++) {
            ledger_close(&world.workers[host][i].ledger);
            sessions_free(&world.workers[host][i].sessions);
        }
}
