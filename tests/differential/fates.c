/* SPDX-License-Identifier: ISC
 *
 * The fate of a batch is arranged by an engine that does what the real one does, but for what is added and sent. */
#include "differential/fates.h"

#include <glib.h>

#include "differential/engine.h"
#include "differential/ground.h"

const char *const ground_fate_names[] = {
    [GROUND_LOST] = "lost",
    [GROUND_UNTOLD] = "executed, but not answered",
    [GROUND_ROLLED_BACK] = "rolled back",
    [GROUND_LATE] = "late",
};

static const struct sql_engine *real;
static struct sql_engine fated;
static enum lock_method method;
static enum ground_fate fate;
static int fate_count;
static int64_t late;
static GHashTable *sessions; /* the last one of each ledger, by where it has its application's name */

const struct sql_engine *__real_sql_load(const struct config *config, struct error *error); /* ld --wrap */
const struct sql_engine *__wrap_sql_load(const struct config *config, struct error *error);

const struct sql_engine *__wrap_sql_load(const struct config *config, struct error *error)
{
    (void)config, (void)error;
    return &fated;
}

struct sql_session *fates_session(const struct ledger *ledger)
{
    return ledger->sql != NULL ? g_hash_table_lookup(sessions, ledger->application) : NULL;
}

int64_t fates_late(void)
{
    return late;
}

void ground_set_fate(enum ground_fate the_fate, int count)
{
    fate = the_fate;
    fate_count = count;
}

static bool has_fate(enum ground_fate which)
{
    return fate == which && fate_count > 0;
}

/* If so, uses it up once. */
static bool takes_fate(enum ground_fate which)
{
    bool has = has_fate(which);
    fate_count -= has;
    return has;
}

bool ground_late(void)
{
    return late != 0;
}

void ground_late_comes(void)
{
    ground_engine.late_comes(late);
    late = 0;
}

static struct sql_session *fated_open(const struct config *config, const char *application, struct error *error)
{
    struct sql_session *session = real->open(config, application, error);
    g_hash_table_insert(sessions, (void *)(uintptr_t)application, session);
    return session;
}

static void fated_close(struct sql_session *session)
{
    if (ground_engine.gone != NULL)
        ground_engine.gone(session);
    real->close(session);
}

static void fated_look(struct sql_session *session)
{
    if (ground_engine.used != NULL)
        ground_engine.used(session);
    real->look(session);
}

/* A statement that fails, once in a batch: with a lease that has several COMMITs, and whatever follows the first one that
 * fails is not executed. Or one that waits; it comes after a ROLLBACK that has nothing to roll back, since the server
 * would report that at once, and nobody would read it. */
static void fated_add(struct sql_session *session, enum sql_step step, const struct sql_value *values)
{
    static bool gated, failed;
    size_t mark = real->mark(session);
    gated = gated && mark > 0;
    failed = failed && mark > 0;
    if (has_fate(GROUND_LATE) && !gated && step != SQL_STEP_rollback && step != SQL_STEP_begin) {
        gated = true;
        ground_engine.add(session, ground_engine.gate);
    }
    /* The beginning of a long batch is sent before its end is added: nothing of that is executed. */
    if (has_fate(GROUND_LOST) && mark == 0 && real->usable(session))
        ground_engine.end(ground_engine.number_of(session));
    if (ground_engine.used != NULL && mark == 0)
        ground_engine.used(session);
    if (step == SQL_STEP_settings && mark > 1 && ground_engine.let_pass[method] != NULL) /* not the first transaction */
        ground_engine.add(session, ground_engine.let_pass[method]);
    if (step == SQL_STEP_commit && !failed && takes_fate(GROUND_ROLLED_BACK)) {
        failed = true;
        ground_engine.add(session, ground_engine.fails);
    } else {
        real->add(session, step, values);
    }
}

static bool fated_send(struct sql_session *session, struct error *error)
{
    (void)takes_fate(GROUND_LOST);
    if (!real->send(session, error))
        return false;
    if (takes_fate(GROUND_UNTOLD)) {
        (void)ground_engine.waits(session);
        ground_engine.end(ground_engine.number_of(session));
        ground_engine.deafen(session);
    } else if (takes_fate(GROUND_LATE) && ground_engine.waits(session)) { /* not if the session had already ended */
        late = ground_engine.number_of(session);
        ground_engine.deafen(session);
    }
    return true;
}

const struct sql_engine *fates_open(const struct config *config, struct error *error)
{
    real = __real_sql_load(config, error);
    if (real == NULL)
        return NULL;
    sessions = g_hash_table_new(NULL, NULL);
    method = config->lock.method;
    fated = *real;
    fated.open = fated_open;
    fated.close = fated_close;
    fated.look = fated_look;
    fated.add = fated_add;
    fated.send = fated_send;
    return real;
}
