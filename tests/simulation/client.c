/* SPDX-License-Identifier: ISC
 *
 * The session with the database, and its uses other than deliveries. */
#include "client.h"

#include <string.h>

#include "breakage.h"
#include "key.h"
#include "ledger/ledger.h"
#include "scheduler.h"

struct session *ledger_session(const struct ledger *ledger)
{
    return ledger != NULL ? ledger->session : NULL;
}

static void end_session(void *what, uint32_t tag)
{
    (void)tag;
    database_end_session(what);
}

void ledger_died(struct ledger *ledger, int64_t after)
{
    if (ledger->session != NULL && ledger->session->alive)
        schedule(now + after, end_session, ledger->session, 0);
    ledger->session = NULL;
}

struct ledger *ledger_open(const struct config *config, const char *queue_id, struct error *error)
{
    struct ledger *ledger = base_alloc(sizeof(*ledger));
    (void)queue_id;
    (void)error;
    ledger->config = config;
    return ledger;
}

/* If the process is dead, its session was left to ledger_died. */
static void drop_session(struct ledger *ledger)
{
    if (ledger->session != NULL)
        database_end_session(ledger->session);
    ledger->session = NULL;
    ledger->broken = ledger->kept = false;
    ledger->in_transaction = false;
}

void ledger_close(struct ledger **ledger)
{
    if (*ledger == NULL)
        return;
    drop_session(*ledger);
    base_free(ledger);
}

bool client_trouble(struct error *error, const char *text)
{
    strcpy(error->text, text);
    return false;
}

bool client_dead(void)
{
    return world.current->dead;
}

/* ledger_connect */
bool client_connect(struct ledger *ledger, struct error *error)
{
    if (client_dead())
        return client_trouble(error, "dead");
    if (ledger->session != NULL && !ledger->session->alive && error_loss_is_seen())
        ledger->broken = true;
    if (ledger->session != NULL && !ledger->broken)
        return true;
    drop_session(ledger);
    struct call call = call_begin(CALL_CONNECT);
    if (!call_pass(&call, 0) || !call_pass(&call, 1))
        return client_trouble(error, "dead");
    if (call.error == ERROR_DATABASE_AWAY)
        return client_trouble(error, "no connection to the database");
    ledger->session = database_connect();
    if (ledger->config->lock.method == LOCK_METHOD_SESSION)
        ledger->owner = database_owner(ledger->session);
    ledger->kept = true;
    return true;
}

bool client_lost_kept(const struct ledger *ledger, bool kept)
{
    return kept && (!ledger->kept || ledger->broken) && !client_dead();
}

void client_lose(struct ledger *ledger)
{
    if (client_dead())
        return;
    ledger->broken = true;
    ledger->in_transaction = false;
    if (ledger->session != NULL)
        database_end_session(ledger->session);
}

void client_close(struct ledger *ledger)
{
    client_lose(ledger);
    ledger->kept = false;
}

void client_rollback(struct ledger *ledger)
{
    bool leased = ledger->leased;
    client_note_lock(ledger, false);
    if (client_dead() || ledger->session == NULL || !ledger->session->alive)
        return;
    database_rollback(ledger->session);
    if (leased)
        database_end_lease(ledger->lock, ledger->owner);
}

struct clocks client_clocks(void)
{
    const struct process *process = world.current;
    unsigned host = process != NULL && process->job != NULL ? process->job->host : 0;
    int64_t time = now + database_passed();
    return (struct clocks){
        .host = host,
        .boot = world.host_boot[host] * HOSTS + host,
        .running = time - world.host_start[host],
        .wall = time + world.host_clock[host],
    };
}

struct key client_key(const struct ledger_message *message)
{
    return (struct key){key_first_bytes(message->identity),
                        breakage != BREAK_VARIANT_IS_DUPLICATE ? key_first_bytes(message->digest) : 0};
}

uint64_t client_lock(const struct ledger *ledger, const struct ledger_message *message)
{
    return key_of_lock(ledger->config->lock.method, message->identity);
}

int64_t client_lease(const struct ledger *ledger)
{
    return ledger->config->lock.method == LOCK_METHOD_SESSION ? NEVER / 4 : ledger->config->delivery.deadline * MS;
}

void client_set_lock(const struct ledger *ledger, struct batch *batch)
{
    batch->lock = ledger->lock;
    batch->owner = ledger->owner;
    batch->lasts = client_lease(ledger);
}

void client_note_lock(struct ledger *ledger, bool held)
{
    ledger->in_transaction = held && ledger->owner == 0;
    ledger->leased = held && ledger->owner != 0;
}

bool ledger_account_query(struct ledger *ledger, const char *query, const char *address, bool *ret_found,
                          char *ret_columns[4], struct error *error)
{
    (void)query;
    for (int i = 0; i < 2; i++) {
        bool kept = ledger->kept;
        if (!client_connect(ledger, error))
            return false;
        struct call call = call_begin(CALL_LOOKUP);
        if (!call_pass(&call, 0) || !call_pass(&call, 1))
            return client_trouble(error, "dead");
        if (call.error != ERROR_DATABASE_AWAY && ledger->session->alive) {
            memset(ret_columns, 0, 4 * sizeof(ret_columns[0]));
            *ret_found = world_number(address) < ADDRESSES;
            if (*ret_found)
                ret_columns[0] = base_strdup(world_account(world_account_of(world_number(address))));
            return true;
        }
        client_lose(ledger);
        (void)client_trouble(error, "route.account_query: connection lost");
        if (!kept)
            return false;
    }
    return false;
}

bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_look,
                        struct error *error)
{
    bool found;
    char *columns[4] = {NULL};
    if (!ledger_account_query(ledger, server, world_address(0), &found, columns, error))
        return false;
    base_free(&columns[0]);
    *ret = tables_server ? LEDGER_SERVER_VERIFIED : LEDGER_SERVER_NEW;
    *ret_look = !tables_server;
    return true;
}

bool ledger_server_record(struct ledger *ledger, const char *server, bool honoured, struct error *error)
{
    (void)ledger;
    (void)server;
    (void)error;
    if (!client_dead())
        tables_server = honoured;
    return !client_dead();
}

char *ledger_refusal_id(const char *server, const char *account)
{
    return base_printf("%s %s", server, account);
}

bool ledger_refusal_read(struct ledger *ledger, const char *id, struct ledger_refusal *ret, struct error *error)
{
    (void)ledger;
    (void)id;
    (void)error;
    *ret = (struct ledger_refusal){.refusals = 0};
    return !client_dead();
}

bool ledger_refusal_record(struct ledger *ledger, const char *server, const char *account,
                           const struct ledger_refusal *refusal, struct error *error)
{
    (void)ledger;
    (void)server;
    (void)account;
    (void)refusal;
    (void)error;
    return !client_dead();
}

bool ledger_refusal_forget(struct ledger *ledger, const char *id, struct error *error)
{
    (void)ledger;
    (void)id;
    (void)error;
    return !client_dead();
}
