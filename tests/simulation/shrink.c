/* SPDX-License-Identifier: ISC
 *
 * Leaves out jobs, tries and faults, one at a time, as long as the episode still fails. */
#include "shrink.h"

#include <stdio.h>
#include <string.h>

#include "episode.h"
#include "faults.h"
#include "postfix.h"

/* Whether it still fails in this way. */
static bool fails(uint64_t seed, uint64_t episode, const char *kind)
{
    memset(error_struck, 0, sizeof(error_struck));
    return !episode_run(seed, episode) && world.violation.kind != NULL && strcmp(world.violation.kind, kind) == 0;
}

/* Leaves out what it can; true if that was anything. */
static bool leave_out(bool *off, uint64_t seed, uint64_t episode, const char *kind)
{
    if (*off)
        return false;
    *off = true;
    if (fails(seed, episode, kind))
        return true;
    *off = false;
    return false;
}

static bool leave_out_errors(uint64_t seed, uint64_t episode, const char *kind)
{
    static bool struck[FAULTS];
    bool any = false;
    (void)fails(seed, episode, kind);
    memcpy(struck, error_struck, sizeof(struck));
    for (size_t i = FAULTS; i-- > 0;)
        if (struck[i])
            any |= leave_out(&error_off[i], seed, episode, kind);
    return any;
}

static bool leave_out_jobs(uint64_t seed, uint64_t episode, const char *kind)
{
    bool any = false;
    size_t count = world.job_count;
    for (size_t i = 0; i < count; i++)
        any |= leave_out(&job_off[i], seed, episode, kind);
    return any;
}

/* Of the tries that there were at first: those left out are replaced by later ones. */
static bool leave_out_tries(uint64_t seed, uint64_t episode, const char *kind, const unsigned *tries)
{
    bool any = false;
    for (size_t i = 0; i < JOBS; i++)
        for (unsigned k = tries[i] < TRIES ? tries[i] : TRIES; k-- > 0;)
            any |= leave_out(&try_off[i][k], seed, episode, kind);
    return any;
}

static void leave_out_nothing(void)
{
    memset(error_off, 0, sizeof(error_off));
    memset(job_off, 0, sizeof(job_off));
    memset(try_off, 0, sizeof(try_off));
}

static void tell(uint64_t seed, uint64_t episode, const char *kind)
{
    size_t errors = 0, jobs = 0;
    (void)fails(seed, episode, kind);
    for (size_t i = 0; i < FAULTS; i++)
        errors += error_struck[i];
    for (size_t i = 0; i < world.job_count; i++)
        jobs += !job_off[i];
    printf("shrunk to %zu jobs and %zu faults:\n", jobs, errors);
    world_tells = true;
    (void)fails(seed, episode, kind);
    world_tells = false;
}

void shrink_and_tell(uint64_t seed, uint64_t episode)
{
    leave_out_nothing();
    if (episode_run(seed, episode)) {
        printf("episode %lu of seed %lu holds when it is run again\n", (unsigned long)episode, (unsigned long)seed);
        return;
    }
    const char *kind = world.violation.kind;
    unsigned tries[JOBS] = {0};
    for (size_t i = 0; i < world.job_count; i++)
        tries[i] = world.jobs[i].tries;
    while (leave_out_jobs(seed, episode, kind) || leave_out_errors(seed, episode, kind) ||
           leave_out_tries(seed, episode, kind, tries))
        continue;
    tell(seed, episode, kind);
    leave_out_nothing();
}
