/* SPDX-License-Identifier: ISC
 *
 * The session: connecting, transaction settings, single statements. */
#include "ledger/ledger_session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* `abandoned` is missing here: a delivery treats an abandoned copy as a pending one, doubt included. */
static const char *const state_names[] = {
    [COPY_NONE] = "none",     [COPY_PENDING] = "pending", [COPY_APPENDING] = "appending",
    [COPY_STORED] = "stored", [COPY_FAILED] = "failed",
};

const char *ledger_state_name(enum copy_state state)
{
    return state_names[state];
}

enum copy_state ledger_state(const char *name)
{
    for (size_t i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++)
        if (strcmp(name, state_names[i]) == 0)
            return (enum copy_state)i;
    return strcmp(name, "abandoned") == 0 ? COPY_PENDING : COPY_NONE;
}

const char *ledger_role_name(enum copy_role role)
{
    return role == COPY_SENT ? "sent" : "inbox";
}

struct ledger *ledger_open(const struct config *config, const char *queue_id, struct fault *fault)
{
    struct ledger *ledger = base_alloc(sizeof(*ledger));
    ledger->config = config;
    if (gethostname(ledger->host, sizeof(ledger->host) - 1) != 0)
        strcpy(ledger->host, "localhost");
    snprintf(ledger->application, sizeof(ledger->application), "oncedrop %.20s[%d]%s%.20s", ledger->host, (int)getpid(),
             queue_id != NULL ? " " : "", queue_id != NULL ? queue_id : "");
    if (!ledger_connect(ledger, fault))
        ledger_close(&ledger);
    return ledger;
}

bool ledger_connect(struct ledger *ledger, struct fault *fault)
{
    if (ledger->pg != NULL && pg_usable(ledger->pg))
        pg_look(ledger->pg);
    if (ledger->pg != NULL && pg_usable(ledger->pg))
        return true;
    pg_close(&ledger->pg);
    ledger->in_transaction = false; /* a lease is still ours */
    ledger->pg = pg_open(ledger->config->database.conninfo, ledger->application, ledger->config->database.schema,
                         ledger->config->database.tls == DATABASE_TLS_VERIFY, fault);
    if (ledger->pg == NULL)
        ledger_add_login_remedy(ledger->config, fault);
    return ledger->pg != NULL;
}

bool ledger_lost_kept(const struct ledger *ledger, bool kept)
{
    return kept && (ledger->pg == NULL || !pg_usable(ledger->pg));
}

void ledger_close(struct ledger **ledger)
{
    if (*ledger == NULL)
        return;
    pg_close(&(*ledger)->pg);
    base_free(&(*ledger)->holder);
    base_free(ledger);
}

#define BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

/* All SET LOCAL in one statement, in which every name is qualified. If a site has lowered synchronous_commit, mail could be
 * lost after an answer that was not yet durable, here and on a synchronous standby; that the wait for that was given up is
 * said by a WARNING (pg_connect.c). idle_in_transaction_session_timeout lets the server release the lock of a process that
 * was stopped. */
#define SETTINGS \
    "pg_catalog.set_config('synchronous_commit', CASE WHEN pg_catalog.current_setting('synchronous_commit')" \
    " OPERATOR(pg_catalog.=) 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)," \
    " pg_catalog.set_config('client_min_messages', 'warning', true)," \
    " pg_catalog.set_config('idle_in_transaction_session_timeout', $1, true)," \
    " pg_catalog.set_config('statement_timeout', $2, true)," \
    " pg_catalog.set_config('lock_timeout', $3, true), pg_catalog.pg_backend_pid()"

static void add_begin(struct ledger *ledger, const char *settings, int64_t lock_ms)
{
    pg_add(ledger->pg, BEGIN, 0, NULL);
    pg_add(ledger->pg, settings,
           PG_PARAMS(PG_NUMBER(ledger->config->delivery.deadline), PG_NUMBER(PG_TIMEOUT_MS + lock_ms),
                     PG_NUMBER(lock_ms)));
}

void ledger_add_begin(struct ledger *ledger, int64_t lock_ms)
{
    add_begin(ledger, "SELECT " LEDGER_SAFE_PATH ", " SETTINGS, lock_ms);
}

void ledger_add_begin_as_is(struct ledger *ledger)
{
    add_begin(ledger, "SELECT " SETTINGS, PG_TIMEOUT_MS);
}

void ledger_add_begin_idle(struct ledger *ledger)
{
    pg_add(ledger->pg, BEGIN, 0, NULL);
    pg_add(ledger->pg, "SELECT " LEDGER_SAFE_PATH ", pg_catalog.set_config('synchronous_commit', 'off', true)", 0,
           NULL);
}

void ledger_add_path(struct ledger *ledger)
{
    pg_add(ledger->pg, "SELECT " LEDGER_SAFE_PATH, 0, NULL);
}

void ledger_add_event(struct ledger *ledger, const char *name, size_t count)
{
    pg_add(ledger->pg, "INSERT INTO @schema@.event (name, host, count) VALUES ($1::text, $2::text, $3::integer)",
           PG_PARAMS(PG_TEXT(name), PG_TEXT(ledger->host), PG_NUMBER((int64_t)count)));
}

void ledger_finish(struct ledger *ledger)
{
    struct fault ignored;
    if (!pg_finish(ledger->pg) || !pg_in_transaction(ledger->pg))
        return;
    pg_add(ledger->pg, "ROLLBACK", 0, NULL);
    if (pg_send(ledger->pg, &ignored))
        pg_finish(ledger->pg);
}

PGresult *ledger_ask_here(struct ledger *ledger, const char *role, const char *sql, size_t count,
                          const struct pg_param *params, struct fault *fault)
{
    ledger_add_path(ledger);
    size_t mark = pg_mark(ledger->pg);
    pg_add(ledger->pg, sql, count, params);
    PGresult *result = pg_send(ledger->pg, fault) ? pg_take(ledger->pg, mark, fault) : NULL;
    pg_finish(ledger->pg);
    if (result == NULL)
        ledger_add_remedy(ledger->config, role, fault);
    return result;
}

PGresult *ledger_ask(struct ledger *ledger, const char *role, const char *sql, size_t count,
                     const struct pg_param *params, struct fault *fault)
{
    return ledger_connect(ledger, fault) ? ledger_ask_here(ledger, role, sql, count, params, fault) : NULL;
}

PGresult *ledger_change(struct ledger *ledger, const char *role, const char *sql, size_t count,
                        const struct pg_param *params, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return NULL;
    ledger_add_begin(ledger, PG_TIMEOUT_MS);
    size_t mark = pg_mark(ledger->pg);
    pg_add(ledger->pg, sql, count, params);
    pg_add(ledger->pg, "COMMIT", 0, NULL);
    PGresult *result = pg_send(ledger->pg, fault) ? pg_take(ledger->pg, mark, fault) : NULL;
    if (result != NULL && !pg_committed(ledger->pg, mark + 1, fault))
        pg_clear(&result);
    ledger_finish(ledger);
    if (result == NULL)
        ledger_add_remedy(ledger->config, role, fault);
    return result;
}
