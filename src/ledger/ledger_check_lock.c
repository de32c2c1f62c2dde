/* SPDX-License-Identifier: ISC
 *
 * Finds by experiment engines and proxies that grant every lock, or none. */
#include <glib.h>
#include <string.h>

#include "ledger/ledger_check.h"
#include "ledger/ledger_lock.h"

#define CHECK_MS 4000 /* for a result that takes milliseconds */
#define HOSTS_MOST 8

enum sharing {
    SHARING_TROUBLE, /* a transaction failed; error set */
    EXCLUDES,
    NEVER_GRANTED,
    GRANTED_TWICE,
    NOT_RELEASED,
};

static bool begin_try(struct ledger *ledger, int64_t key, bool *ret, struct fault *fault)
{
    if (!ledger_connect(ledger, fault) || !ledger_set_lock(ledger, key, fault))
        return false;
    sql_set_timeout(ledger->sql, CHECK_MS);
    ledger_add_begin_look(ledger, CHECK_MS);
    size_t mark = sql_mark(ledger->sql);
    ledger_add_acquire(ledger, key, 0);
    size_t end = sql_mark(ledger->sql);
    ledger_add_end(ledger);
    struct sql_rows *result OD_CLEANUP(sql_rows_free) =
        sql_send(ledger->sql, fault) ? sql_take(ledger->sql, mark, fault) : NULL;
    if (result != NULL && !ledger_ended(ledger, end, fault))
        sql_rows_free(&result);
    bool kept = sql_finish(ledger->sql);
    if (result == NULL)
        ledger_add_remedy(ledger, SQL_DELIVERY, fault);
    else if (!kept)
        fault_set(fault, "database: the connection is closed as soon as a transaction begins");
    else
        ledger_note_lock(ledger, *ret = lock_granted(result));
    return result != NULL && kept;
}

/* Explains why `other` had no result, if it waited for the transaction of `ledger`. */
static void explain_no_answer(struct ledger *ledger, struct ledger *other, int64_t key, struct fault *fault)
{
    struct fault ignored;
    bool granted;
    if (other->sql == NULL || sql_usable(other->sql)) /* there was a result: an error */
        return;
    ledger_rollback(ledger);
    if (begin_try(other, key, &granted, &ignored))
        fault_set(fault,
                  "a second transaction waits until the first has ended: the pool has one connection, and two"
                  " deliveries cannot run at once; give it more%s",
                  ledger->engine->pool_hint);
}

static enum sharing try_both(struct ledger *ledger, struct ledger *other, int64_t key, struct fault *fault)
{
    bool first = false, beside = false, second = true, after = false;
    if (!begin_try(ledger, key, &first, fault))
        return SHARING_TROUBLE;
    if (!begin_try(other, key ^ 1, &beside, fault)) {
        explain_no_answer(ledger, other, key ^ 1, fault);
        return SHARING_TROUBLE;
    }
    ledger_rollback(other);
    if (!begin_try(other, key, &second, fault)) {
        fault_prefix(fault, "a try of a lock that is held must return at once");
        return SHARING_TROUBLE;
    }
    ledger_rollback(other);
    ledger_rollback(ledger);
    if (!begin_try(other, key, &after, fault))
        return SHARING_TROUBLE;
    return !first || !beside ? NEVER_GRANTED : second ? GRANTED_TWICE : after ? EXCLUDES : NOT_RELEASED;
}

static enum sharing share(struct ledger *ledger, struct ledger *other, struct fault *fault)
{
    int64_t key = 0;
    enum sharing sharing = base_random(&key, fault) ? try_both(ledger, other, key, fault) : SHARING_TROUBLE;
    ledger_rollback(other);
    ledger_rollback(ledger);
    return sharing;
}

/* Returns the other methods that work: a new string; NULL: none. */
static char *other_methods(struct ledger *ledger, struct ledger *other)
{
    struct fault ignored;
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
                            struct fault *fault)
{
    static const char *const wrong[] = {
        [NEVER_GRANTED] = "the lock is not granted although it is free",
        [GRANTED_TWICE] = "hold the same lock: it does not exclude",
        [NOT_RELEASED] = "the lock is not released when its transaction ends",
    };
    const char *method = lock_method_name(ledger->config->lock.method);
    bool lacks = ledger->engine->failure(fault) == SQL_FAILURE_NO_LOCK;
    char *others OD_CLEANUP(base_free) = sharing != SHARING_TROUBLE || lacks ? other_methods(ledger, other) : NULL;
    char *reason OD_CLEANUP(base_free) = sharing == SHARING_TROUBLE ? base_strdup(fault->text)
                                         : sharing == GRANTED_TWICE ? base_printf("%s %s", who, wrong[sharing])
                                                                    : base_printf("%s: %s", who, wrong[sharing]);
    if (others != NULL)
        fault_set(fault,
                  "method = %s cannot be used here: %s; set lock.method = %s on all hosts, then run: oncedrop schema"
                  " method",
                  method, reason, others);
    else if (sharing != SHARING_TROUBLE)
        fault_set(fault,
                  "method = %s cannot be used here, nor any other: %s; this database or pooler has no locks, or they"
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
    struct host list[HOSTS_MOST];
};

static void hosts_clear(struct hosts *hosts)
{
    for (size_t i = 0; i < HOSTS_MOST; i++) {
        ledger_close(&hosts->list[i].ledger);
        base_free(&hosts->list[i].conninfo);
        base_free(&hosts->list[i].name);
    }
}

/* Returns true if deliveries can reach the host and write there. Otherwise adds why to *left_out, unless
 * target_session_attrs excludes it. */
static bool reach(const struct sql_engine *engine, struct host *host, char **left_out)
{
    struct fault fault;
    bool granted;
    host->ledger = ledger_open(&host->config, NULL, &fault);
    bool reached = host->ledger != NULL && begin_try(host->ledger, 0, &granted, &fault);
    if (reached)
        ledger_rollback(host->ledger);
    else
        ledger_close(&host->ledger);
    if (reached || engine->failure(&fault) == SQL_FAILURE_OTHER_HOST)
        return reached;
    char *before OD_CLEANUP(base_free) = *left_out;
    *left_out =
        base_printf("%s%s%s: %s", before != NULL ? before : "", before != NULL ? "; " : "", host->name, fault.text);
    return false;
}

static bool check_hosts(const struct ledger *ledger, struct host *hosts, struct ledger_check_lock *ret,
                        struct fault *fault)
{
    const struct config *config = ledger->config;
    for (size_t i = 0; i < HOSTS_MOST; i++) {
        hosts[i].conninfo = ledger->engine->nth_host(config, i, &hosts[i].name);
        if (hosts[i].conninfo == NULL)
            break;
        hosts[i].config = *config;
        hosts[i].config.database.conninfo = hosts[i].conninfo;
        if (!reach(ledger->engine, &hosts[i], &ret->left_out))
            continue;
        ret->hosts++;
        for (size_t j = 0; j < i; j++) {
            char *who OD_CLEANUP(base_free) = base_printf("sessions of %s and %s", hosts[j].name, hosts[i].name);
            enum sharing sharing = hosts[j].ledger != NULL ? share(hosts[j].ledger, hosts[i].ledger, fault) : EXCLUDES;
            if (sharing == SHARING_TROUBLE)
                fault_prefix(fault, "%s", who);
            if (sharing != EXCLUDES)
                return explain_sharing(hosts[j].ledger, hosts[i].ledger, sharing, who, fault);
        }
    }
    return true;
}

/* If a row is missing, its messages are deferred for ever. */
static bool check_slots(struct ledger *ledger, struct fault *fault)
{
    if (ledger->config->lock.method != LOCK_METHOD_ROW)
        return true;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_ask(ledger, SQL_DELIVERY, SQL_STEP(slots_missing, .count = SQL_NUMBER(LOCK_SLOTS)), fault);
    if (rows == NULL)
        return false;
    return rows->count == 0 || fault_set(fault, "%s", sql_text(rows, 0, SLOTS_MISSING_REASON));
}

bool ledger_check_lock(const struct config *config, struct ledger_check_lock *ret, struct fault *fault)
{
    *ret = (struct ledger_check_lock){.hosts = 0};
    struct hosts hosts OD_CLEANUP(hosts_clear) = {.list = {{.ledger = NULL}}};
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(config, NULL, fault);
    struct ledger *other OD_CLEANUP(ledger_close) = ledger != NULL ? ledger_open(config, NULL, fault) : NULL;
    if (other == NULL)
        return false;
    enum sharing sharing = share(ledger, other, fault);
    if (sharing != EXCLUDES)
        return explain_sharing(ledger, other, sharing, "two sessions", fault);
    if (!check_slots(ledger, fault))
        return false;
    char *second OD_CLEANUP(base_free) = ledger->engine->nth_host(config, 1, NULL);
    return second == NULL || check_hosts(ledger, hosts.list, ret, fault);
}
