/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const int ending[] = {SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGBUS};

static timer_t timer;
static pid_t timer_owner;           /* a timer does not survive fork(2) */
static int64_t ends_at = INT64_MAX; /* not armed */
static void (*end_process)(int signal);
static volatile pid_t group; /* 0: none */

static void catch_unless_ignored(int signal, const struct sigaction *action)
{
    struct sigaction inherited;
    if (sigaction(signal, action, &inherited) < 0)
        abort();
    if ((signal == SIGHUP || signal == SIGINT) && inherited.sa_handler == SIG_IGN)
        (void)sigaction(signal, &inherited, NULL);
}

static void end_with_group(int signal)
{
    if (group > 0)
        (void)kill(-group, SIGKILL);
    end_process(signal);
}

void deadline_set_group(pid_t processes)
{
    group = processes;
}

void deadline_install(void (*end)(int signal))
{
    struct sigaction action = {.sa_handler = end_with_group};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
        sigaddset(&ours, ending[i]);
    action.sa_mask = ours;
    end_process = end;
    for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
        catch_unless_ignored(ending[i], &action);
    if (sigaction(SIGPIPE, &ignore, NULL) < 0)
        abort();
    /* With SIGALRM blocked by the parent there would be no deadline. */
    if (sigprocmask(SIG_UNBLOCK, &ours, NULL) < 0)
        abort();
}

static bool have_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    if (timer_owner == getpid())
        return true;
    if (timer_create(CLOCK_BOOTTIME, &event, &timer) < 0)
        return false;
    timer_owner = getpid();
    return true;
}

bool deadline_arm(int64_t ms, struct error *error)
{
    if (ms < 1)
        ms = 1; /* zero disarms */
    struct itimerspec when = {.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
    int64_t end = base_now_ms() + ms;
    if (!have_timer() || timer_settime(timer, 0, &when, NULL) < 0)
        return error_set(error, "cannot set a timer for the deadline: %m");
    ends_at = end;
    return true;
}

int64_t deadline_left_ms(void)
{
    int64_t left = ends_at - base_now_ms();
    return ends_at == INT64_MAX ? INT64_MAX : left > 0 ? left : 0;
}

void deadline_disarm(void)
{
    struct itimerspec disarmed = {.it_value = {.tv_sec = 0}};
    if (ends_at != INT64_MAX && timer_owner == getpid())
        timer_settime(timer, 0, &disarmed, NULL);
    ends_at = INT64_MAX;
}
