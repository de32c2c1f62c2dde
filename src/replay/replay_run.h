/* SPDX-License-Identifier: ISC
 *
 * The parent's side of `replay` and `resume`: gives messages to workers, comes back to those that others were at, and says
 * what became of each. */
#ifndef ONCEDROP_REPLAY_RUN_H
#define ONCEDROP_REPLAY_RUN_H

#include "replay/replay_output.h"
#include "replay/replay_task.h"

struct replay_source {
    /* The next message: a name for people and what its loader needs (floating). False: there are no more. */
    bool (*next)(void *context, char **ret_name, GVariant **ret_task);
    void *context;
};

/* Delivers everything that the source has. A message that another delivery is at is tried again, with back-off, for as
 * long as a claim can be fresh; others go on meanwhile. SIGINT and SIGTERM: what is under way is finished, nothing new
 * begun.
 *
 * jobs  workers at a time, at least 1
 *
 * Returns the exit status: 0 all in place, EX_DATAERR some failed for good, else EX_TEMPFAIL some deferred or not
 * tried. */
int replay_run(const struct replay_setup *setup, const struct replay_source *source, size_t jobs,
               struct replay_output *output) OD_MUST;

#endif
