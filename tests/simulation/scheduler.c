/* SPDX-License-Identifier: ISC
 *
 * The heap of events, and processes that wait in it. */
#include "scheduler.h"

#include <stdlib.h>

#include "breakage.h"
#include "coroutine.h"
#include "postfix.h"

#define EVENTS 4096

struct event {
    int64_t at;
    void (*happen)(void *, uint32_t);
    void *what;
    uint32_t tag, order; /* events at the same time occur in the order in which they were scheduled */
};

int64_t now;
static int64_t run_until;
static struct event events[EVENTS];
static size_t event_count;
static uint32_t order;

static bool before(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void schedule(int64_t at, void (*happen)(void *what, uint32_t tag), void *what, uint32_t tag)
{
    struct event event = {.at = at, .happen = happen, .what = what, .tag = tag, .order = order++};
    size_t i = event_count++;
    if (event_count > EVENTS)
        abort();
    for (; i > 0 && before(&event, &events[(i - 1) / 2]); i = (i - 1) / 2)
        events[i] = events[(i - 1) / 2];
    events[i] = event;
}

static struct event take(void)
{
    struct event first = events[0], last = events[--event_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < event_count; i = child) {
        if (child + 1 < event_count && before(&events[child + 1], &events[child]))
            child++;
        if (!before(&events[child], &last))
            break;
        events[i] = events[child];
    }
    events[i] = last;
    return first;
}

bool schedule_run(int64_t until)
{
    run_until = until;
    while (event_count > 0 && world.violation.kind == NULL) {
        if (events[0].at > until)
            return false;
        struct event event = take();
        now = event.at;
        event.happen(event.what, event.tag);
    }
    return true;
}

void schedule_clear(void)
{
    event_count = 0;
    order = 0;
    now = 0;
}

void process_run(struct process *process)
{
    struct process *outer = world.current;
    world.current = process;
    if (coroutine_resume(process->coroutine))
        process->coroutine = NULL;
    world.current = outer;
}

static void wake(void *what, uint32_t tag)
{
    struct process *process = what;
    if (process->coroutine != NULL && process->tag == tag)
        process_run(process);
}

static void suspend_until(struct process *process, int64_t at)
{
    process->tag++;
    if (at <= run_until && (event_count == 0 || at < events[0].at)) {
        now = at; /* it would be next anyway */
        return;
    }
    if (at != NEVER)
        schedule(at, wake, process, process->tag);
    coroutine_suspend();
}

void process_wake(struct process *process)
{
    schedule(now, wake, process, process->tag);
}

static int64_t deadline_of(const struct process *process)
{
    return breakage == BREAK_NO_DEADLINE ? NEVER : process->deadline_at;
}

static bool goes_on(struct process *process)
{
    if (!process->dead && now >= deadline_of(process))
        process_die("its deadline is over");
    return !process->dead;
}

bool process_sleep(int64_t us)
{
    struct process *process = world.current;
    if (process->dead)
        return false;
    int64_t deadline = deadline_of(process);
    suspend_until(process, now + us < deadline ? now + us : deadline);
    return goes_on(process);
}

bool process_stop(int64_t us)
{
    struct process *process = world.current;
    if (process->dead)
        return false;
    suspend_until(process, now + us);
    return goes_on(process);
}

bool process_wait(void)
{
    struct process *process = world.current;
    if (process->dead)
        return false;
    suspend_until(process, deadline_of(process));
    return goes_on(process);
}

void process_die(const char *why)
{
    struct process *process = world.current;
    process->dead = true;
    TELL("dies: %s", why);
    postfix_died(process);
}

void process_kill(struct process *process, const char *why)
{
    struct process *outer = world.current;
    world.current = process;
    process_die(why);
    world.current = outer;
    process_wake(process);
}
