/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

#include <string.h>
#include <unistd.h>

/* A lock that ends with its transaction has no release step. */
static const struct {
    const char *name;
    enum sql_step acquire, relock, holder, release, release_all;
} methods[LOCK_METHODS] = {
    [LOCK_METHOD_ADVISORY] = {"advisory", SQL_STEP_lock_advisory, SQL_STEP_relock_advisory, SQL_STEP_holder_advisory,
                              SQL_STEPS, SQL_STEPS},
    [LOCK_METHOD_ROW] = {"row", SQL_STEP_lock_row, SQL_STEP_relock_row, SQL_STEP_holder_row, SQL_STEPS, SQL_STEPS},
    [LOCK_METHOD_LEASE] = {"lease", SQL_STEP_lock_lease, SQL_STEP_relock_lease, SQL_STEP_holder_lease,
                           SQL_STEP_release_lease, SQL_STEP_release_leases},
    [LOCK_METHOD_SESSION] = {"session", SQL_STEP_lock_session, SQL_STEP_relock_session, SQL_STEP_holder_session,
                             SQL_STEP_release_session, SQL_STEP_release_sessions},
};

bool ledger_can_claim_if_new(const struct ledger *ledger)
{
    enum lock_method method = ledger->config->lock.method;
    return (method == LOCK_METHOD_ADVISORY || method == LOCK_METHOD_SESSION) &&
           ledger->engine->steps[SQL_STEP_claim_guard].text != NULL;
}

bool ledger_leases(const struct ledger *ledger)
{
    return methods[ledger->config->lock.method].release != SQL_STEPS;
}

const char *lock_method_name(enum lock_method method)
{
    return methods[method].name;
}

bool ledger_has_method(const struct ledger *ledger, enum lock_method method)
{
    return ledger->engine->steps[methods[method].acquire].text != NULL;
}

bool ledger_agrees(const struct ledger *ledger, const char *recorded, struct error *error)
{
    const char *method = lock_method_name(ledger->config->lock.method);
    if (recorded != NULL && strcmp(recorded, method) == 0)
        return true;
    return error_set(error,
                     "lock.method = %s, but the hosts of this database have agreed on %s, and with different methods"
                     " deliveries would not exclude each other (to change it everywhere: oncedrop ledger method)",
                     method, recorded != NULL ? recorded : "none");
}

int64_t ledger_hold_wait_ms(const struct config *config)
{
    return config->lock.wait > 1000 ? config->lock.wait : 1000;
}

bool ledger_set_lock(struct ledger *ledger, int64_t key, struct error *error)
{
    ledger->just_tried = ledger->just_tried && ledger->lock_key == key;
    ledger->lock_key = key;
    ledger->leased = false;
    return !ledger_leases(ledger) || base_random(&ledger->lock_owner, error);
}

void ledger_remember_lock(struct ledger *ledger, bool held)
{
    ledger->in_transaction = held && !ledger_leases(ledger);
    ledger->leased = held && ledger_leases(ledger);
}

/* A lease lasts for delivery.deadline, which ends its holder. */
static void add_step(struct ledger *ledger, enum sql_step step, int64_t key, int64_t wait_ms)
{
    bool slot = ledger->config->lock.method == LOCK_METHOD_ROW;
    sql_add(ledger->sql, step,
            SQL_VALUES(lock_lease, .key = SQL_NUMBER(slot ? key & (LOCK_SLOTS - 1) : key),
                       .owner = SQL_NUMBER(ledger->lock_owner),
                       .lasts_ms = SQL_NUMBER(ledger->config->delivery.deadline), .host = SQL_TEXT(ledger->host),
                       .pid = SQL_NUMBER(getpid()), .session = SQL_TEXT(ledger->application),
                       .wait_ms = SQL_NUMBER(wait_ms)));
}

void ledger_add_acquire(struct ledger *ledger, int64_t key, int64_t wait_ms)
{
    add_step(ledger, methods[ledger->config->lock.method].acquire, key, wait_ms);
}

void ledger_add_relock(struct ledger *ledger)
{
    add_step(ledger, methods[ledger->config->lock.method].relock, ledger->lock_key,
             ledger_hold_wait_ms(ledger->config));
}

void ledger_add_release(struct ledger *ledger)
{
    if (ledger->leased)
        add_step(ledger, methods[ledger->config->lock.method].release, ledger->lock_key, 0);
}

void ledger_add_release_all(struct ledger *ledger)
{
    if (ledger_leases(ledger))
        sql_add(ledger->sql, methods[ledger->config->lock.method].release_all,
                SQL_VALUES(release_leases, .owner = SQL_NUMBER(ledger->lock_owner)));
}

bool lock_granted(const struct sql_rows *rows)
{
    return rows->count == 1 && sql_bool(rows, 0, 0);
}

bool ledger_conflicted(const struct ledger *ledger, const struct error *error)
{
    return sql_failure(ledger->engine->failures, error) == SQL_FAILURE_CONFLICT;
}

struct sql_rows *ledger_query_or_retry(ledger_query_function *once, struct ledger *ledger, enum sql_step step,
                                       const struct sql_value *values, struct error *error)
{
    bool kept = ledger->sql != NULL;
    struct sql_rows *rows = once(ledger, SQL_DELIVERY, step, values, error);
    if (rows == NULL && (ledger_lost_reused(ledger, kept) || ledger_conflicted(ledger, error)))
        rows = once(ledger, SQL_DELIVERY, step, values, error);
    return rows;
}

bool ledger_lock_unavailable(const struct ledger *ledger, const struct error *error)
{
    return sql_failure(ledger->engine->failures, error) == SQL_FAILURE_LOCK_TIMEOUT || ledger_conflicted(ledger, error);
}

void ledger_add_rollback(struct ledger *ledger)
{
    if (!ledger_leases(ledger) || sql_in_transaction(ledger->sql))
        sql_add(ledger->sql, SQL_STEP(rollback));
}

void ledger_add_end(struct ledger *ledger)
{
    if (ledger_leases(ledger))
        sql_add(ledger->sql, SQL_STEP(commit));
}

bool ledger_ended(struct ledger *ledger, size_t mark, struct error *error)
{
    return !ledger_leases(ledger) || sql_committed(ledger->sql, mark, error);
}

void ledger_add_begin_under(struct ledger *ledger)
{
    if (ledger_leases(ledger))
        ledger_add_begin(ledger, SQL_TIMEOUT_MS);
}

void ledger_rollback(struct ledger *ledger)
{
    struct error ignored;
    bool usable = sql_usable(ledger->sql), leased = ledger->leased;
    ledger->in_transaction = false;
    if (usable && (!ledger_leases(ledger) || leased || sql_in_transaction(ledger->sql))) {
        ledger_add_rollback(ledger);
        if (leased) {
            ledger_add_begin_idle(ledger);
            ledger_add_release(ledger);
            sql_add(ledger->sql, SQL_STEP(commit));
        }
        if (sql_send(ledger->sql, &ignored))
            ledger_finish(ledger);
    }
    ledger->leased = false;
}

void ledger_add_holder(struct ledger *ledger)
{
    add_step(ledger, methods[ledger->config->lock.method].holder, ledger->lock_key, 0);
}

void ledger_take_holder(struct ledger *ledger, size_t mark)
{
    struct error ignored;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, mark, &ignored);
    base_free(&ledger->holder);
    if (rows == NULL || rows->count == 0)
        return;
    const char *name = sql_text(rows, 0, HOLDER_LEASE_SESSION);
    if (sql_bool(rows, 0, HOLDER_LEASE_OURS))
        ledger->holder = base_strdup(name);
    else
        ledger->holder = base_printf("%s (database user %s, process %s)",
                                     name[0] != '\0' ? name : "a session without a name",
                                     sql_text(rows, 0, HOLDER_LEASE_USER), sql_text(rows, 0, HOLDER_LEASE_PROCESS));
}

char *ledger_holder(struct ledger *ledger)
{
    struct error ignored;
    if (ledger->holder == NULL && !ledger->in_transaction && sql_usable(ledger->sql)) {
        sql_add(ledger->sql, SQL_STEP(path));
        ledger_add_holder(ledger);
        if (sql_send(ledger->sql, &ignored))
            ledger_take_holder(ledger, sql_mark(ledger->sql) - 1);
        sql_finish(ledger->sql);
    }
    char *holder = ledger->holder;
    ledger->holder = NULL;
    return holder;
}
