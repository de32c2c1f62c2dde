/* SPDX-License-Identifier: ISC
 *
 * Finds by experiment engines and proxies that grant every lock, or none. */
#include <glib.h>
#include <string.h>

#include "ledger/ledger_check.h"
#include "ledger/ledger_internal.h"

#define CHECK_MS 4000 /* for a result that takes milliseconds */
#define HOSTS_MAX 8

enum sharing {
    SHARING_ERROR, /* a transaction failed; error set */
    EXCLUDES,
    NOT_GRANTED,
    GRANTED_TWICE,
    NOT_RELEASED,
};

static bool begin_try(struct ledger *ledger, int64_t key, bool *ret, struct error *error)
{
    if (!ledger_connect(ledger, error) || !ledger_set_lock(ledger, key, error))
        return false;
    sql_set_timeout(ledger->sql, CHECK_MS);
    ledger_add_begin_read(ledger, CHECK_MS);
    size_t mark = sql_mark(ledger->sql);
    ledger_add_acquire(ledger, key, 0);
    size_t end = sql_mark(ledger->sql);
    ledger_add_end(ledger);
    struct sql_rows *result OD_CLEANUP(sql_rows_free) =
        sql_send(ledger->sql, error) ? sql_get_result(ledger->sql, mark, error) : NULL;
    if (result != NULL && !ledger_ended(ledger, end, error))
        sql_rows_free(&result);
    bool kept = sql_finish(ledger->sql);
    if (result == NULL)
        ledger_add_hint(ledger, SQL_DELIVERY, error);
    else if (!kept)
        error_set(error, "database: the connection is closed as soon as a transaction begins");
    else
        ledger_remember_lock(ledger, *ret = lock_granted(result));
    return result != NULL && kept;
}

/* Explains why `other` had no result, if it waited for the transaction of `ledger`. */
static void explain_no_reply(struct ledger *ledger, struct ledger *other, int64_t key, struct error *error)
{
    struct error ignored;
    bool granted;
    if (other->sql == NULL || sql_usable(other->sql)) /* there was a result: an error */
        return;
    ledger_rollback(ledger);
    if (begin_try(other, key, &granted, &ignored))
        error_set(error,
                  "a second transaction waits until the first has ended: the pool has one connection, and two"
                  " deliveries cannot run at once; give it more%s",
                  ledger->engine->pool_hint);
}

static enum sharing try_both(struct ledger *ledger, struct ledger *other, int64_t key, struct error *error)
{
    bool first = false, unrelated = false, second = true, after = false;
    if (!begin_try(ledger, key, &first, error))
        return SHARING_ERROR;
    if (!begin_try(other, key ^ 1, &unrelated, error)) {
        explain_no_reply(ledger, other, key ^ 1, error);
        return SHARING_ERROR;
    }
    ledger_rollback(other);
    if (!begin_try(other, key, &second, error)) {
        error_prefix(error, "a try of a lock that is held must return at once");
        return SHARING_ERROR;
    }
    ledger_rollback(other);
    ledger_rollback(ledger);
    if (!begin_try(other, key, &after, error))
        return SHARING_ERROR;
    return !first || !unrelated ? NOT_GRANTED : second ? GRANTED_TWICE : after ? EXCLUDES : NOT_RELEASED;
}

static enum sharing share(struct ledger *ledger, struct ledger *other, struct error *error)
{
    int64_t key = 0;
    enum sharing sharing = base_random(&key, error) ? try_both(ledger, other, key, error) : SHARING_ERROR;
    ledger_rollback(other);
    ledger_rollback(ledger);
    return sharing;
}

/* Returns the other methods that work: a new string; NULL: none. */
static char *other_methods(struct ledger *ledger, struct ledger *other)
{
    struct error ignored;
    const struct config *config = ledger->config, *others = other->config;
    GString *names = g_string_new(NULL);
    for (enum lock_method method = 0; method < LOCK_METHODS; method++) {
        struct config with = *config, others_with = *others;
        with.lock.method = others_with.lock.method = method;
        ledger->config = &with;
        other->config = &others_with;
        if (method != config->lock.method && ledger_has_method(ledger, method) &&
            share(ledger, other, &ignored) == EXCLUDES)
            g_string_append_printf(names, "%s%s", names->len > 0 ? " or " : "", lock_method_name(method));
        ledger->config = config;
        other->config = others;
    }
    bool any = names->len > 0;
    return g_string_free(names, !any);
}

static bool explain_sharing(struct ledger *ledger, struct ledger *other, enum sharing sharing, const char *who,
                            struct error *error)
{
    static const char *const wrong[] = {
        [NOT_GRANTED] = SQL_NOT_GRANTED,
        [GRANTED_TWICE] = "hold the same lock: it does not exclude",
        [NOT_RELEASED] = "the lock is not released when its transaction ends",
    };
    const char *method = lock_method_name(ledger->config->lock.method);
    bool lacks = sql_failure(ledger->engine->failures, error) == SQL_FAILURE_NO_LOCK;
    char *others OD_CLEANUP(base_free) = sharing != SHARING_ERROR || lacks ? other_methods(ledger, other) : NULL;
    char *reason OD_CLEANUP(base_free) = sharing == SHARING_ERROR   ? base_strdup(error->text)
                                         : sharing == GRANTED_TWICE ? base_printf("%s %s", who, wrong[sharing])
                                                                    : base_printf("%s: %s", who, wrong[sharing]);
    if (others != NULL)
        error_set(
            error,
            "lock.method = %s cannot be used here: %s; set lock.method = %s on all hosts, then run: oncedrop ledger"
            " method",
            method, reason, others);
    else if (sharing != SHARING_ERROR)
        error_set(
            error,
            "lock.method = %s cannot be used here, nor any other: %s; this database or pooler has no locks, or they"
            " reached two databases; all deliveries must reach one primary",
            method, reason);
    return false;
}

struct host {
    struct config config;
    char *conninfo, *name;
    struct ledger *ledger;
};

struct hosts {
    struct host list[HOSTS_MAX];
};

static void hosts_clear(struct hosts *hosts)
{
    for (size_t i = 0; i < HOSTS_MAX; i++) {
        ledger_close(&hosts->list[i].ledger);
        base_free(&hosts->list[i].conninfo);
        base_free(&hosts->list[i].name);
    }
}

/* Returns true if deliveries can reach the host and write there. Otherwise adds why to *left_out, unless
 * target_session_attrs excludes it. */
static bool reach(const struct sql_engine *engine, struct host *host, char **left_out)
{
    struct error error;
    bool granted;
    host->ledger = ledger_open(&host->config, NULL, &error);
    bool reached = host->ledger != NULL && begin_try(host->ledger, 0, &granted, &error);
    if (reached)
        ledger_rollback(host->ledger);
    else
        ledger_close(&host->ledger);
    if (reached || sql_failure(engine->failures, &error) == SQL_FAILURE_OTHER_HOST)
        return reached;
    char *before OD_CLEANUP(base_free) = *left_out;
    *left_out =
        base_printf("%s%s%s: %s", before != NULL ? before : "", before != NULL ? "; " : "", host->name, error.text);
    return false;
}

static bool check_hosts(const struct ledger *ledger, struct host *hosts, struct ledger_check_lock *ret,
                        struct error *error)
{
    const struct config *config = ledger->config;
    for (size_t i = 0; i < HOSTS_MAX; i++) {
        hosts[i].conninfo = sql_nth_host(ledger->engine, config, i, &hosts[i].name);
        if (hosts[i].conninfo == NULL)
            break;
        hosts[i].config = *config;
        hosts[i].config.database.conninfo = hosts[i].conninfo;
        if (!reach(ledger->engine, &hosts[i], &ret->left_out))
            continue;
        ret->hosts++;
        for (size_t j = 0; j < i; j++) {
            char *who OD_CLEANUP(base_free) = base_printf("sessions of %s and %s", hosts[j].name, hosts[i].name);
            enum sharing sharing = hosts[j].ledger != NULL ? share(hosts[j].ledger, hosts[i].ledger, error) : EXCLUDES;
            if (sharing == SHARING_ERROR)
                error_prefix(error, "%s", who);
            if (sharing != EXCLUDES)
                return explain_sharing(hosts[j].ledger, hosts[i].ledger, sharing, who, error);
        }
    }
    return true;
}

/* If a row is missing, its messages are deferred for ever. */
static bool check_slots(struct ledger *ledger, struct error *error)
{
    if (ledger->config->lock.method != LOCK_METHOD_ROW)
        return true;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_DELIVERY, SQL_STEP(slots_missing, .count = SQL_NUMBER(LOCK_SLOTS)), error);
    if (rows == NULL)
        return false;
    return rows->count == 0 || error_set(error, "%s", sql_text(rows, 0, SLOTS_MISSING_REASON));
}

bool ledger_check_lock(const struct config *config, struct ledger_check_lock *ret, struct error *error)
{
    *ret = (struct ledger_check_lock){.hosts = 0};
    struct hosts hosts OD_CLEANUP(hosts_clear) = {.list = {{.ledger = NULL}}};
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(config, NULL, error);
    struct ledger *other OD_CLEANUP(ledger_close) = ledger != NULL ? ledger_open(config, NULL, error) : NULL;
    if (other == NULL)
        return false;
    enum sharing sharing = share(ledger, other, error);
    if (sharing != EXCLUDES)
        return explain_sharing(ledger, other, sharing, "two sessions", error);
    if (!check_slots(ledger, error))
        return false;
    char *second OD_CLEANUP(base_free) = sql_nth_host(ledger->engine, config, 1, NULL);
    return second == NULL || check_hosts(ledger, hosts.list, ret, error);
}
