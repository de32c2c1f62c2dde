/* SPDX-License-Identifier: ISC
 *
 * The worker's side of group commit. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sqlite/lite.h"

static struct lite_group *group; /* NULL: this process is in none */
static struct lite_member *self;

struct sql_group *lite_group_new(size_t members)
{
    size_t size = sizeof(struct lite_group) + members * sizeof(struct lite_member);
    struct lite_group *new = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (new == MAP_FAILED)
        return NULL;
    new->size = size;
    new->count = members;
    for (size_t i = 0; i < members; i++)
        (void)sem_init(&new->members[i].replied, 1, 0);
    if (pipe2(new->wake_fds, O_CLOEXEC | O_NONBLOCK) == 0)
        return &new->shared;
    (void)munmap(new, size);
    return NULL;
}

void lite_group_leave(struct sql_group *shared)
{
    struct lite_group *left = (struct lite_group *)shared;
    (void)close(left->wake_fds[0]);
    (void)close(left->wake_fds[1]);
    left->is_left = true;
}

void lite_group_join(struct sql_group *shared, size_t number)
{
    struct lite_group *joined = (struct lite_group *)shared;
    if (madvise(joined, joined->size, MADV_DONTFORK) != 0) /* the decoder must not have it */
        return;
    group = joined;
    self = &joined->members[number];
    lite_lock_report_to(&self->delivers);
}

/* Returns true if no other worker delivers: none would share this one's COMMIT, and the writer would only take time. */
static bool is_alone(void)
{
    bool alone = true;
    for (size_t i = 0; i < group->count; i++)
        alone = alone && (&group->members[i] == self || !atomic_load(&group->members[i].delivers));
    return alone;
}

/* The outcome of what the writer had begun stays unknown. */
void lite_group_writer_died(struct sql_group *shared)
{
    struct lite_group *its = (struct lite_group *)shared;
    atomic_store(&its->writer, 0);
    for (size_t i = 0; i < its->count; i++) {
        struct lite_member *member = &its->members[i];
        int waits = LITE_MEMBER_WAITS, taken = LITE_MEMBER_TAKEN;
        if (atomic_compare_exchange_strong(&member->state, &waits, LITE_MEMBER_TAKEN))
            member->outcome = LITE_MEMBER_RETURNED;
        (void)atomic_compare_exchange_strong(&member->state, &taken, LITE_MEMBER_FREE);
        (void)sem_post(&member->replied); /* it may have died before it did that */
    }
    if (its->is_left)
        (void)munmap(its, its->size);
}

/* NULL: no room. */
static void *keep_shared(const void *bytes, size_t size)
{
    size_t at = (self->used + 7) / 8 * 8;
    if (at > LITE_VALUES_MAX || size > LITE_VALUES_MAX - at)
        return NULL;
    self->used = at + size;
    return size > 0 ? memcpy(self->bytes + at, bytes, size) : self->bytes + at;
}

static bool keep_value(struct sql_value *value)
{
    bool list = value->kind == SQL_KIND_TEXTS || value->kind == SQL_KIND_NUMBERS;
    char *json OD_CLEANUP(base_free) = list ? sql_value_list(value, true) : NULL;
    if (list)
        *value = SQL_TEXT_CUT(json, SIZE_MAX);
    if (value->kind == SQL_KIND_TEXT)
        return (value->text = keep_shared(value->text, strlen(value->text) + 1)) != NULL;
    return value->kind != SQL_KIND_BYTES || (value->bytes = keep_shared(value->bytes, value->size)) != NULL;
}

/* Returns false if it does not fit, or has results of more than a number. */
static bool put_step(enum sql_step step, const struct sql_step_text *text, const struct sql_value *values)
{
    if (self->steps == LITE_STEPS_MAX || text->column_kinds[0] != '\0')
        return false;
    struct sql_value *kept = keep_shared(values, text->params * sizeof(*values));
    bool fits = kept != NULL;
    for (size_t i = 0; fits && i < text->params; i++)
        fits = keep_value(&kept[i]);
    if (fits)
        self->step[self->steps++] = (struct lite_step){.step = step, .text = text, .values = kept};
    return fits;
}

static bool is_release(enum sql_step step)
{
    return step == SQL_STEP_release_session || step == SQL_STEP_release_sessions;
}

bool lite_group_executes(enum sql_step step)
{
    return step != SQL_STEP_begin && step != SQL_STEP_commit && !is_release(step);
}

static void release_locks(struct sql_session *lite)
{
    struct error ignored;
    for (size_t i = 0; i < self->steps; i++)
        if (is_release(self->step[i].step))
            sql_rows_drop(lite_execute(lite, self->step[i].text->text, "", 1, self->step[i].values, &ignored));
}

static void take_results(struct sql_session *lite)
{
    for (size_t i = 0; i < self->steps; i++) {
        struct sql_rows *rows = sql_rows_new(0);
        rows->count = self->step[i].count;
        rows->changed = self->step[i].changed;
        g_queue_push_tail(&lite->results, rows);
    }
    release_locks(lite);
}

static void take_outcome(struct sql_session *lite)
{
    if (self->outcome == LITE_MEMBER_COMMITTED) {
        take_results(lite);
        return;
    }
    lite->failed = true;
    lite->error = self->error;
    lite->lost = self->outcome == LITE_MEMBER_UNKNOWN;
    if (lite->lost)
        lite_unlock_all(lite);
}

void lite_group_end(struct sql_session *lite)
{
    if (lite->group_state == LITE_GROUP_NONE)
        return;
    while (atomic_load(&self->state) != LITE_MEMBER_FREE)
        (void)!sem_wait(&self->replied);
    bool executed = lite->group_state == LITE_GROUP_SENT && self->outcome != LITE_MEMBER_RETURNED;
    lite->group_state = LITE_GROUP_NONE;
    if (executed)
        take_outcome(lite);
    for (size_t i = 0; !executed && i < self->steps; i++)
        lite_add_step(lite, self->step[i].text, self->step[i].values);
}

/* Unless a transaction that another worker left when it died is still there. */
static void begin_request(struct sql_session *lite)
{
    if (group == NULL || lite->lost || lite->failed || !sqlite3_get_autocommit(lite->db) ||
        atomic_load(&group->writer) == 0 || atomic_load(&self->state) != LITE_MEMBER_FREE || is_alone())
        return;
    self->used = self->steps = 0;
    self->outcome = LITE_MEMBER_UNKNOWN;
    error_set(&self->error, "database: the process that writes to %s for the service has died", lite->path);
    self->files = lite->files;
    self->files.file[LITE_LOG].size = self->files.file[LITE_INDEX].size = 0; /* they may have grown since */
    self->lock_node = lite_files_node(lite_lock_file());
    lite->group_state = LITE_GROUP_FILLS;
}

/* If the writer dies meanwhile, either this or lite_group_writer_died() takes the request back. */
static void send_request(struct sql_session *lite)
{
    int waits = LITE_MEMBER_WAITS;
    lite->group_state = LITE_GROUP_SENT;
    atomic_store(&self->state, LITE_MEMBER_WAITS);
    (void)!write(group->wake_fds[1], "", 1); /* if the pipe is full, the writer is awake */
    if (atomic_load(&group->writer) == 0 && atomic_compare_exchange_strong(&self->state, &waits, LITE_MEMBER_FREE))
        self->outcome = LITE_MEMBER_RETURNED;
}

bool lite_group_add(struct sql_session *lite, enum sql_step step, const struct sql_step_text *text,
                    const struct sql_value *values)
{
    if (lite->group_state == LITE_GROUP_SENT || step == SQL_STEP_begin || step == SQL_STEP_rollback)
        lite_group_end(lite);
    if (step == SQL_STEP_begin)
        begin_request(lite);
    if (lite->group_state == LITE_GROUP_FILLS && !put_step(step, text, values))
        lite_group_end(lite);
    if (lite->group_state == LITE_GROUP_FILLS && step == SQL_STEP_commit)
        send_request(lite);
    return lite->group_state != LITE_GROUP_NONE;
}
