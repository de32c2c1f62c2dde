/* SPDX-License-Identifier: ISC
 *
 * Group commit, the writer's side. */
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sqlite/lite.h"

#define SLOW_US 500 /* a COMMIT that takes longer is worth waiting for others */
#define WAIT_MAX_US 10000

struct writer {
    const struct config *config;
    struct lite_group *group;
    struct sql_session *lite; /* NULL: none */
    bool ended;               /* the workers have */
    bool begun;               /* there is a transaction, in which nothing but a member's part has failed */
    struct error error;       /* why not */
    size_t count;             /* its members */
    size_t last, before;      /* members whose last group was the last one, or that before */
    int64_t commit_us;        /* what the last COMMIT took */
};

/* Waits for members; -1: without limit. */
static void wait_for_members(struct writer *writer, int64_t us)
{
    char bytes[64];
    struct timespec limit = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    struct pollfd waited = {.fd = writer->group->wake_fds[0], .events = POLLIN};
    if (ppoll(&waited, 1, us < 0 ? NULL : &limit, NULL) > 0)
        writer->ended = read(waited.fd, bytes, sizeof(bytes)) == 0;
}

static void begin_group(struct writer *writer)
{
    if (writer->lite == NULL)
        writer->lite = lite_open(writer->config, "", &writer->error);
    if (writer->lite == NULL)
        return;
    writer->begun = writer->lite->grouped = lite_script(writer->lite, "BEGIN IMMEDIATE", &writer->error);
}

/* Returns whether the worker has read, and locked its message, in the files that this session has. */
static bool has_same_files(const struct sql_session *lite, struct lite_member *member)
{
    return (lite_files_same(&member->files, &lite->files) && member->lock_node == lite_files_node(lite_lock_file())) ||
           error_set(&member->error, LITE_CHANGED, lite->path, "", LITE_MOVED);
}

static bool execute_steps(struct sql_session *lite, struct lite_member *member)
{
    static const struct sql_step_text nothing = {.column_kinds = "", .text = ""};
    bool good = true;
    for (size_t i = 0; i < member->steps; i++)
        lite_add_step(lite, lite_group_executes(member->step[i].step) ? member->step[i].text : &nothing,
                      member->step[i].values);
    for (size_t i = 0; good && i < member->steps; i++) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = lite_next(lite, &member->error);
        good = rows != NULL;
        member->step[i].count = good ? rows->count : 0;
        member->step[i].changed = good ? rows->changed : 0;
    }
    return lite_finish(lite) && good;
}

/* Executes the member's part. Returns false if nothing of it may be committed. */
static bool execute_member(struct sql_session *lite, struct lite_member *member)
{
    struct error ignored;
    if (!lite_script(lite, "SAVEPOINT member", &member->error))
        return false;
    bool good = execute_steps(lite, member); /* else they are rolled back */
    return lite_script(lite, "RELEASE member", good ? &member->error : &ignored) && good;
}

static void take(struct writer *writer, struct lite_member *member)
{
    if (writer->count++ == 0)
        begin_group(writer);
    writer->last -= member->group + 1 == writer->group->number;
    writer->before -= member->group + 2 == writer->group->number;
    member->group = writer->group->number;
    member->has_other_files = writer->begun && !has_same_files(writer->lite, member);
    member->has_failed = member->has_other_files || (writer->begun && !execute_member(writer->lite, member));
    writer->begun = writer->begun && !writer->lite->lost;
}

/* Executes the parts of all that wait. Returns false if none did. */
static bool take_waiting(struct writer *writer)
{
    bool any = false;
    for (size_t i = 0; i < writer->group->count; i++) {
        int waits = LITE_MEMBER_WAITS;
        if (!atomic_compare_exchange_strong(&writer->group->members[i].state, &waits, LITE_MEMBER_TAKEN))
            continue;
        take(writer, &writer->group->members[i]);
        any = true;
    }
    return any;
}

/* Waits for those who were in the last two groups, for half of what a COMMIT takes, and takes what comes. */
static void take_others(struct writer *writer)
{
    int64_t limit_us = writer->commit_us >= SLOW_US ? MIN(writer->commit_us / 2, WAIT_MAX_US) : 0;
    int64_t end_us = g_get_monotonic_time() + limit_us, left_us;
    do {
        left_us = writer->last + writer->before > 0 ? end_us - g_get_monotonic_time() : 0;
        wait_for_members(writer, left_us > 0 ? left_us : 0);
    } while (take_waiting(writer) || left_us > 0);
}

/* committed: the COMMIT, if there was one. Without it nothing of any member is there. */
static enum lite_member_outcome outcome_of(const struct writer *writer, struct lite_member *member, bool committed)
{
    if (member->has_other_files)
        return LITE_MEMBER_UNKNOWN;
    if (member->has_failed)
        return LITE_MEMBER_FAILED;
    if (!writer->begun)
        return LITE_MEMBER_RETURNED;
    if (!committed)
        member->error = writer->error;
    return committed ? LITE_MEMBER_COMMITTED : LITE_MEMBER_UNKNOWN;
}

static void reply_all(const struct writer *writer, bool committed)
{
    for (size_t i = 0; i < writer->group->count; i++) {
        struct lite_member *member = &writer->group->members[i];
        if (atomic_load(&member->state) != LITE_MEMBER_TAKEN)
            continue;
        member->outcome = outcome_of(writer, member, committed);
        atomic_store(&member->state, LITE_MEMBER_FREE);
        (void)sem_post(&member->replied);
    }
}

static void commit_group(struct writer *writer)
{
    int64_t began_us = g_get_monotonic_time();
    bool committed = writer->begun && lite_script(writer->lite, "COMMIT", &writer->error);
    writer->commit_us = g_get_monotonic_time() - began_us;
    reply_all(writer, committed);
    if (writer->lite != NULL && !lite_end_group(writer->lite)) {
        lite_close(writer->lite);
        writer->lite = NULL;
    }
    writer->begun = false;
    writer->before = writer->last;
    writer->last = writer->count;
    writer->count = 0;
    writer->group->number++;
}

void lite_group_write(struct sql_group *shared, const struct config *config)
{
    struct lite_group *group = (struct lite_group *)shared;
    struct writer writer = {.config = config, .group = group};
    (void)close(group->wake_fds[1]);
    group->number += 3; /* for no member the last but one */
    atomic_store(&group->writer, getpid());
    (void)prctl(PR_SET_NAME, "oncedrop-writer"); /* for ps(1), from when workers use it */
    while (!writer.ended) {
        if (take_waiting(&writer)) {
            take_others(&writer);
            commit_group(&writer);
        } else {
            wait_for_members(&writer, -1);
        }
    }
    if (writer.lite != NULL)
        lite_close(writer.lite);
}
