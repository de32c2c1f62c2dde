/* SPDX-License-Identifier: ISC
 *
 * The fate of a batch is arranged by an engine that does what the real one does, except when a step is added or a batch sent. */
#include "differential/batch_faults.h"

#include <glib.h>

#include "differential/engine.h"
#include "differential/fixture.h"

const char *const fixture_fate_names[] = {
    [FIXTURE_LOST] = "lost",
    [FIXTURE_UNREPORTED] = "executed, but not answered",
    [FIXTURE_ROLLED_BACK] = "rolled back",
    [FIXTURE_LATE] = "late",
};

static const struct sql_engine *real;
static struct sql_engine fated;
static enum lock_method method;
static enum fixture_fate fate;
static int fate_count;
static int64_t late;
static GHashTable *sessions; /* the last one of each ledger, by where it has its application's name */
static GHashTable *batches;  /* session -> struct batch */

/* What was added to the session's batch, and read of it. Steps of ours are unknown to the ledger, which reads no
 * results of them. */
struct batch {
    size_t added, taken;
    GArray *ours; /* size_t: their places */
};

const struct sql_engine *__real_sql_load(const struct config *config, struct error *error); /* ld --wrap */
const struct sql_engine *__wrap_sql_load(const struct config *config, struct error *error);

const struct sql_engine *__wrap_sql_load(const struct config *config, struct error *error)
{
    (void)config, (void)error;
    return &fated;
}

struct sql_session *batch_faults_session(const struct ledger *ledger)
{
    return ledger->sql != NULL ? g_hash_table_lookup(sessions, ledger->application) : NULL;
}

int64_t batch_faults_late(void)
{
    return late;
}

void fixture_set_fate(enum fixture_fate the_fate, int count)
{
    fate = the_fate;
    fate_count = count;
}

static bool has_fate(enum fixture_fate which)
{
    return fate == which && fate_count > 0;
}

/* If so, uses it up once. */
static bool takes_fate(enum fixture_fate which)
{
    bool has = has_fate(which);
    fate_count -= has;
    return has;
}

bool fixture_late(void)
{
    return late != 0;
}

void fixture_late_comes(void)
{
    fixture_engine.late_comes(late);
    late = 0;
}

static struct batch *batch_of(struct sql_session *session)
{
    struct batch *batch = g_hash_table_lookup(batches, session);
    if (batch == NULL) {
        batch = g_new0(struct batch, 1);
        batch->ours = g_array_new(FALSE, FALSE, sizeof(size_t));
        g_hash_table_insert(batches, session, batch);
    }
    return batch;
}

static void free_batch(gpointer batch)
{
    g_array_unref(((struct batch *)batch)->ours);
    g_free(batch);
}

static void add_ours(struct sql_session *session, const char *text)
{
    struct batch *batch = batch_of(session);
    g_array_append_val(batch->ours, batch->added);
    batch->added++;
    fixture_engine.add(session, text);
}

static struct sql_session *fated_open(const struct config *config, const char *application, struct error *error)
{
    struct sql_session *session = real->open(config, application, error);
    g_hash_table_insert(sessions, (void *)(uintptr_t)application, session);
    return session;
}

static void fated_close(struct sql_session *session)
{
    if (fixture_engine.gone != NULL)
        fixture_engine.gone(session);
    g_hash_table_remove(batches, session);
    real->close(session);
}

static void fated_check_connection(struct sql_session *session)
{
    if (fixture_engine.used != NULL)
        fixture_engine.used(session);
    if (real->check_connection != NULL)
        real->check_connection(session);
}

/* A statement that fails, once in a batch: with a lease that has several COMMITs, and all that follows the first one that
 * fails is not executed. Or one that waits; it comes after a ROLLBACK that has nothing to roll back, since the server
 * would report that at once, and its response would not be read. */
static void fated_add(struct sql_session *session, enum sql_step step, const struct sql_value *values)
{
    static bool gated, failed;
    size_t mark = batch_of(session)->added;
    gated = gated && mark > 0;
    failed = failed && mark > 0;
    if (has_fate(FIXTURE_LATE) && !gated && step != SQL_STEP_rollback && step != SQL_STEP_begin) {
        gated = true;
        add_ours(session, fixture_engine.gate);
    }
    /* The beginning of a long batch is sent before its end is added: nothing of that is executed. */
    if (has_fate(FIXTURE_LOST) && mark == 0 && real->usable(session))
        fixture_engine.end(fixture_engine.number_of(session));
    if (fixture_engine.used != NULL && mark == 0)
        fixture_engine.used(session);
    if (step == SQL_STEP_settings && mark > 1 &&
        fixture_engine.let_pass[method] != NULL) /* not the first transaction */
        add_ours(session, fixture_engine.let_pass[method]);
    batch_of(session)->added++;
    if (step == SQL_STEP_commit && !failed && takes_fate(FIXTURE_ROLLED_BACK)) {
        failed = true;
        fixture_engine.add(session, fixture_engine.fails);
    } else {
        real->add(session, step, values);
    }
}

static bool fated_send(struct sql_session *session, struct error *error)
{
    (void)takes_fate(FIXTURE_LOST);
    if (real->send != NULL && !real->send(session, error))
        return false;
    if (takes_fate(FIXTURE_UNREPORTED)) {
        (void)fixture_engine.waits(session);
        fixture_engine.end(fixture_engine.number_of(session));
        fixture_engine.deafen(session);
    } else if (takes_fate(FIXTURE_LATE) && fixture_engine.waits(session)) { /* not if the session had already ended */
        late = fixture_engine.number_of(session);
        fixture_engine.deafen(session);
    }
    return true;
}

static struct sql_rows *fated_next(struct sql_session *session, struct error *error)
{
    struct batch *batch = batch_of(session);
    for (guint i = 0; i < batch->ours->len; i++) {
        if (g_array_index(batch->ours, size_t, i) != batch->taken)
            continue;
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = real->next(session, error);
        if (rows == NULL)
            return NULL;
        batch->taken++;
    }
    batch->taken++;
    return real->next(session, error);
}

static bool fated_finish(struct sql_session *session)
{
    struct batch *batch = batch_of(session);
    batch->added = batch->taken = 0;
    g_array_set_size(batch->ours, 0);
    return real->finish(session);
}

const struct sql_engine *batch_faults_open(const struct config *config, struct error *error)
{
    real = __real_sql_load(config, error);
    if (real == NULL)
        return NULL;
    sessions = g_hash_table_new(NULL, NULL);
    batches = g_hash_table_new_full(NULL, NULL, NULL, free_batch);
    method = config->lock.method;
    fated = *real;
    fated.open = fated_open;
    fated.close = fated_close;
    fated.check_connection = fated_check_connection;
    fated.add = fated_add;
    fated.send = fated_send;
    fated.next = fated_next;
    fated.finish = fated_finish;
    return real;
}
