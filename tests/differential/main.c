/* SPDX-License-Identifier: ISC
 *
 * Plays histories on the ledger that it is linked with (fixture.h), and prints them. */
#include <stdio.h>
#include <stdlib.h>

#include "differential/history.h"

static const char usage[] =
    "usage: differential-ENGINE CONNINFO SEED FIRST COUNT [STEP...]\n"
    "       differential-simulated BREAKAGE SEED FIRST COUNT [STEP...]\n"
    "  ONCEDROP_LOCK_METHOD, a variable: advisory, row, lease, or session (with SQLite)\n"
    "  ONCEDROP_CLAIMS_IF_NEW, a variable: set for an engine with step claim_guard\n"
    "  BREAKAGE  one of simulation/breakage.c, or \"\"\n"
    "  STEP      left out\n";

int main(int argc, char **argv)
{
    static struct history history;
    bool left_out[STEPS_MAX] = {false};
    const char *name = getenv("ONCEDROP_LOCK_METHOD");
    enum lock_method method;
    history.claims_if_new = getenv("ONCEDROP_CLAIMS_IF_NEW") != NULL;
    if (!history_method(name != NULL ? name : "advisory", &method) || argc < 5 ||
        !history_open(&history, argv[1], method)) {
        fputs(usage, stderr);
        return 64;
    }
    uint64_t seed = strtoull(argv[2], NULL, 10), first = strtoull(argv[3], NULL, 10),
             count = strtoull(argv[4], NULL, 10);
    for (int i = 5; i < argc; i++)
        left_out[strtoul(argv[i], NULL, 10) % STEPS_MAX] = true;
    for (uint64_t i = 0; i < count; i++)
        history_play(&history, seed, first + i, left_out);
    history_close(&history);
    return fflush(stdout) == 0 ? 0 : 2;
}
