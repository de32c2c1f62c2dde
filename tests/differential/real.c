/* SPDX-License-Identifier: ISC
 *
 * With src/ledger and a database. A second session, the warden's, ends sessions, makes rows older, and waits until the
 * engine has done everything that was sent. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#include "differential/batch_faults.h"
#include "differential/engine.h"
#include "differential/fixture.h"
#include "message/message.h"
#include "simulation/key.h"

static const struct config *config;
static const struct sql_engine *engine;
static struct sql_session *warden, *strangers[STRANGERS];
static bool stranger_waits[STRANGERS], waits[SESSIONS];
static struct ledger *ledgers[SESSIONS];
static int64_t sessions[SESSIONS]; /* their last known numbers */

int64_t __wrap_message_lock_key(const unsigned char identity[LEDGER_HASH_SIZE]); /* ld --wrap */

/* The keys of the simulated ledger: the same messages share a row. */
int64_t __wrap_message_lock_key(const unsigned char identity[LEDGER_HASH_SIZE])
{
    return (int64_t)key_of_lock(config->lock.method, identity);
}

static void check(bool good, const struct error *error)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(2);
}

static struct sql_session *open_session(const char *application)
{
    struct error error;
    struct sql_session *session = engine->open(config, application, &error);
    check(session != NULL, &error);
    return session;
}

static void close_session(struct sql_session *session)
{
    if (fixture_engine.gone != NULL)
        fixture_engine.gone(session);
    engine->close(session);
}

static bool send_batch(struct sql_session *session, struct error *error)
{
    return engine->send == NULL || engine->send(session, error);
}

struct sql_rows *warden_ask(const char *text, struct sql_value value)
{
    struct error error;
    GString *statement = g_string_new(text);
    if (fixture_engine.schema != NULL)
        g_string_replace(statement, "@schema@", fixture_engine.schema, 0);
    (fixture_engine.add_text != NULL ? fixture_engine.add_text : engine->add_text)(warden, statement->str, value);
    g_string_free(statement, TRUE);
    struct sql_rows *rows = send_batch(warden, &error) ? engine->next(warden, &error) : NULL;
    check(rows != NULL, &error);
    engine->finish(warden);
    return rows;
}

bool warden_finds(const char *text, int64_t number)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = warden_ask(text, SQL_NUMBER(number));
    return rows->count > 0;
}

bool fixture_open(const struct config *the_config)
{
    struct error error;
    config = the_config;
    engine = batch_faults_open(config, &error);
    check(engine != NULL, &error);
    warden = open_session("warden");
    struct sql_rows *setting OD_CLEANUP(sql_rows_free) =
        warden_ask("UPDATE @schema@.setting SET lock_method = $1", SQL_TEXT(lock_method_name(config->lock.method)));
    fixture_engine.begin();
    return true;
}

void fixture_close(void)
{
    engine->close(warden);
}

/* Only empty tables give a history a single course. */
void fixture_begin(struct ledger *const the_ledgers[SESSIONS])
{
    (void)warden_finds("DELETE FROM @schema@.message WHERE id <> $1", 0);
    if (fixture_engine.age_leases != NULL)
        (void)warden_finds("DELETE FROM @schema@.lease WHERE owner <> $1", 0);
    for (size_t i = 0; i < SESSIONS; i++)
        fixture_replace(i, the_ledgers[i]);
}

/* 0: it has none. */
static int64_t session_of(const struct ledger *ledger)
{
    const struct sql_session *session = batch_faults_session(ledger);
    return session != NULL ? fixture_engine.number_of(session) : 0;
}

/* A late one ends by itself. */
static void end_session(int64_t number)
{
    if (number != 0 && number != batch_faults_late())
        fixture_engine.end(number);
}

void fixture_replace(size_t session, struct ledger *ledger)
{
    struct error error;
    ledgers[session] = ledger;
    check(ledger_connect(ledger, &error), &error);
    sessions[session] = session_of(ledger);
}

void fixture_work(void)
{
    for (size_t i = 0; i < STRANGERS; i++)
        stranger_waits[i] = stranger_waits[i] && fixture_engine.waits(strangers[i]);
    for (size_t i = 0; i < SESSIONS; i++) {
        const struct sql_session *session = batch_faults_session(ledgers[i]);
        waits[i] = session != NULL && fixture_engine.waits(session);
        if (sessions[i] != session_of(ledgers[i]))
            end_session(sessions[i]);
        sessions[i] = session_of(ledgers[i]);
    }
}

void fixture_forget_known(size_t session)
{
    ledgers[session]->last_was_known = false;
}

bool fixture_waits(size_t session)
{
    return waits[session];
}

void fixture_kill(size_t session)
{
    end_session(session_of(ledgers[session]));
    fixture_work();
}

/* A lock that outlasts transactions needs none, and its step says whether it is granted. */
bool fixture_stranger_asks(size_t stranger, const struct ledger_message *message)
{
    static const enum sql_step steps[LOCK_METHODS] = {
        [LOCK_METHOD_ADVISORY] = SQL_STEP_relock_advisory,
        [LOCK_METHOD_ROW] = SQL_STEP_relock_row,
        [LOCK_METHOD_SESSION] = SQL_STEP_lock_session,
    };
    struct error error;
    struct sql_session *session = strangers[stranger] = open_session("stranger");
    bool lasts = config->lock.method == LOCK_METHOD_SESSION, granted = true;
    if (!lasts)
        engine->add(session, SQL_STEP(begin));
    engine->add(session, steps[config->lock.method],
                SQL_VALUES(relock_row, .key = SQL_NUMBER(message_lock_key(message->identity)), .owner = SQL_NULL,
                           .lasts_ms = SQL_NULL, .host = SQL_NULL, .pid = SQL_NULL, .session = SQL_NULL,
                           .wait_ms = SQL_NUMBER(lasts ? 0 : 60000)));
    check(send_batch(session, &error), &error);
    if (lasts) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = engine->next(session, &error);
        check(rows != NULL, &error);
        granted = sql_bool(rows, 0, 0);
        engine->finish(session);
    }
    stranger_waits[stranger] = fixture_engine.waits(session);
    if (!granted)
        close_session(session);
    return granted;
}

bool fixture_stranger_waits(size_t stranger)
{
    return stranger_waits[stranger];
}

void fixture_stranger_leaves(size_t stranger)
{
    fixture_engine.end(fixture_engine.number_of(strangers[stranger]));
    close_session(strangers[stranger]);
    stranger_waits[stranger] = false;
    fixture_work();
}
