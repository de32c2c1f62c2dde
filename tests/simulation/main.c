/* SPDX-License-Identifier: ISC
 *
 * Runs millions of deliveries, nearly each with a fault, until the number is reached or a check fails. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "breakage.h"
#include "checker.h"
#include "episode.h"
#include "faults.h"
#include "key.h"
#include "shrink.h"
#include "tables.h"

struct options {
    uint64_t seed, episode, deliveries, seconds;
    bool one, all_breakages;
};

static const char usage[] =
    "usage: simulation [--deliveries N] [--seconds N] [--seed N] [--episode N] [--method NAME]\n"
    "                  [--break NAME | --breakages]\n"
    "  --deliveries, --seconds  how many to disturb, or how long to run (default: 1000000)\n"
    "  --episode                only this one, printed step by step\n"
    "  --method                 lock.method of all episodes (default: each draws its own)\n"
    "  --break                  break the protocol: this must be noticed\n"
    "  --breakages              the same for each\n"
    "  --strict                 also check for known open issues (checker.h)\n";

/* By enum lock_method; the last: each episode draws its own. */
static const char *const method_names[LOCK_METHODS + 1] = {"advisory", "row", "lease", "session", "any"};

static bool set_method(const char *name)
{
    for (episode_method = 0; episode_method < LOCK_METHODS; episode_method++)
        if (strcmp(name, method_names[episode_method]) == 0)
            return true;
    return false;
}

static bool parse(int argc, char **argv, struct options *options)
{
    static const struct option words[] = {
        {"deliveries", required_argument, NULL, 'd'},
        {"seconds", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'r'},
        {"episode", required_argument, NULL, 'e'},
        {"break", required_argument, NULL, 'b'},
        {"breakages", no_argument, NULL, 'B'},
        {"strict", no_argument, NULL, 'S'},
        {"method", required_argument, NULL, 'm'},
        {0},
    };
    for (int c; (c = getopt_long(argc, argv, "", words, NULL)) != -1;) {
        uint64_t number = optarg != NULL ? strtoull(optarg, NULL, 10) : 0;
        if (c == 'd')
            options->deliveries = number;
        else if (c == 's')
            options->seconds = number;
        else if (c == 'r')
            options->seed = number;
        else if (c == 'e')
            options->episode = number, options->one = true;
        else if (c == 'B')
            options->all_breakages = true;
        else if (c == 'S')
            checker_strict = true;
        else if (c == 'm' ? !set_method(optarg) : c != 'b' || !breakage_set(optarg))
            return false;
    }
    if (options->deliveries == 0)
        options->deliveries = options->seconds != 0 ? UINT64_MAX : 1000000;
    return optind == argc;
}

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Runs episodes from *episode on; true if all passed. Otherwise *episode is the one that failed. */
static bool run(const struct options *options, uint64_t *episode)
{
    double end = options->seconds > 0 ? seconds(CLOCK_MONOTONIC) + (double)options->seconds : 0;
    for (; counts.struck < options->deliveries; ++*episode) {
        if (!episode_run(options->seed, *episode))
            return false;
        if (end > 0 && (*episode & 63) == 0 && seconds(CLOCK_MONOTONIC) >= end)
            break;
    }
    return true;
}

static int fail(const struct options *options, uint64_t episode)
{
    printf("%s: %s\nseed %" PRIu64 ", episode %" PRIu64 ", lock method %s\n", world.violation.kind,
           world.violation.text, options->seed, episode, method_names[episode_method]);
    shrink_and_tell(options->seed, episode);
    return 1;
}

/* An episode that fails, but passes without the breakage. */
static bool notice(const struct options *options, enum breakage broken)
{
    for (uint64_t episode = 0;; episode++) {
        breakage = broken;
        if (run(options, &episode))
            return false;
        const struct violation found = world.violation;
        breakage = BREAK_NOTHING;
        if (episode_run(options->seed, episode)) {
            world.violation = found;
            return true;
        }
    }
}

static int run_breakages(const struct options *options)
{
    int missed = 0;
    const enum lock_method given = episode_method;
    for (int i = BREAK_NOTHING + 1; i < BREAKAGES; i++) {
        episode_method = breakages[i].leases ? LOCK_METHOD_LEASE : given;
        memset(&counts, 0, sizeof(counts));
        double begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
        bool found = notice(options, (enum breakage)i);
        double time = seconds(CLOCK_PROCESS_CPUTIME_ID) - begun;
        missed += !found;
        printf("%-26s %s after %9" PRIu64 " deliveries, %6.2f s: %s\n", breakages[i].name, found ? "found " : "MISSED",
               counts.deliveries, time, found ? world.violation.kind : breakages[i].meaning);
        fflush(stdout);
    }
    printf("breakages: %d found, %d missed\n", BREAKAGES - 1 - missed, missed);
    return missed != 0;
}

static int century(const struct options *options)
{
    uint64_t episode = 0;
    double begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (!run(options, &episode))
        return fail(options, episode);
    double time = seconds(CLOCK_PROCESS_CPUTIME_ID) - begun;
    for (int i = 1; i < ERROR_KINDS; i++)
        printf("%s%s %" PRIu64, i > 1 ? ", " : "faults: ", error_names[i], error_counts[i]);
    printf("\nanswers: %" PRIu64 ": stored %" PRIu64 ", duplicate %" PRIu64 ", busy %" PRIu64 ", deferred %" PRIu64
           ", bounced %" PRIu64 "; copies %" PRIu64 "\n",
           counts.replies, counts.stored, counts.duplicates, counts.busy, counts.deferred, counts.bounced,
           counts.copies);
    printf("century: lock method %s, seed %" PRIu64 ": %" PRIu64 " deliveries with at least one fault, %" PRIu64
           " without, in %" PRIu64 " episodes, %.0f deliveries a second: 0 lost, 0 doubled, 0 false duplicates\n",
           method_names[episode_method], options->seed, counts.struck, counts.deliveries - counts.struck,
           counts.episodes, (double)counts.deliveries / time);
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {.seed = 1};
    if (!parse(argc, argv, &options)) {
        fputs(usage, stderr);
        return 64;
    }
    if (options.one) {
        world_tells = true;
        bool holds = episode_run(options.seed, options.episode);
        world_tells = false;
        return holds ? 0 : fail(&options, options.episode);
    }
    return options.all_breakages ? run_breakages(&options) : century(&options);
}
