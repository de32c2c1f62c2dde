/* SPDX-License-Identifier: ISC
 *
 * Group commit in the service: one process, the writer, executes the transactions of all workers that wait, each in a
 * savepoint, and commits them together. So on a slow disk several share a sync. A worker shares memory with the writer,
 * at the same address; by itself it reads, locks messages, and executes what needs more than that memory. */
#ifndef ONCEDROP_LITE_GROUP_H
#define ONCEDROP_LITE_GROUP_H

#include <semaphore.h>
#include <stdatomic.h>

#include "sqlite/lite.h"

#define LITE_STEPS_MAX 128     /* of a transaction */
#define LITE_VALUES_MAX 131072 /* bytes */

/* FREE: the worker has it; WAITS: it has a transaction; TAKEN: the writer has it. */
enum lite_member_state { LITE_MEMBER_FREE, LITE_MEMBER_WAITS, LITE_MEMBER_TAKEN };

enum lite_member_outcome {
    LITE_MEMBER_UNKNOWN, /* committed or not; or the worker's session has other files. The session is lost */
    LITE_MEMBER_COMMITTED,
    LITE_MEMBER_FAILED,   /* not committed */
    LITE_MEMBER_RETURNED, /* not executed: the worker is to do that */
};

/* What a worker shares with the writer. */
struct lite_member {
    _Atomic int state;       /* enum lite_member_state */
    sem_t replied;           /* posted when it is FREE again */
    struct lite_files files; /* that the worker has open, and its lock file */
    int64_t lock_node;
    size_t steps;
    struct lite_step {
        enum sql_step step;
        const struct sql_step_text *text;
        const struct sql_value *values;
        size_t count;    /* result: rows */
        int64_t changed; /* result: rows changed */
    } step[LITE_STEPS_MAX];
    enum lite_member_outcome outcome;
    struct error error;
    uint64_t group;                   /* number of the last that it was in; of the writer */
    bool has_other_files, has_failed; /* its part in this one; of the writer */
    size_t used;
    unsigned char bytes[LITE_VALUES_MAX]; /* the values */
};

struct lite_group {
    struct sql_group shared;
    size_t size, count;
    bool is_left;
    int wake_fds[2];      /* a pipe to the writer; its end: all workers have ended */
    _Atomic pid_t writer; /* 0: none; workers write by themselves */
    uint64_t number;      /* of transactions of the group; of the writer */
    struct lite_member members[];
};

/* lite_group.c. Functions without a comment: see sql_engine.h. */
struct sql_group *lite_group_new(size_t members) OD_MUST;
void lite_group_join(struct sql_group *shared, size_t number);
void lite_group_writer_died(struct sql_group *shared);
void lite_group_leave(struct sql_group *shared);

/* Returns whether the writer executes it: the ends of the transaction are the group's, the locks the worker's. */
bool lite_group_executes(enum sql_step step) OD_MUST;

/* Adds a step to a transaction for the writer, and sends it at its COMMIT. False: this session must execute the step. */
bool lite_group_add(struct sql_session *lite, enum sql_step step, const struct sql_step_text *text,
                    const struct sql_value *values) OD_MUST;

/* Waits for the results of what was sent, and executes what was not. */
void lite_group_end(struct sql_session *lite);

/* lite_writer.c */
void lite_group_write(struct sql_group *shared, const struct config *config);

#endif
