/* SPDX-License-Identifier: ISC
 *
 * The connection of each session, and the fate of a batch, arranged when its statements are added and when it is sent
 * (ld --wrap). */
#include "differential/wire.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "differential/ground.h"
#include "differential/warden.h"
#include "postgres/pg_internal.h"
#include "simulation/key.h"
#include "sql/sql.h"

/* Waits until whoever is next in a row's queue has the row: the end of a transaction lets that one go on, but only what it
 * does then makes the row its own, and a new transaction that asks meanwhile gets it first. Who is next has the lock of the
 * tuple until then. (The lock manager gives an advisory lock to who is next, at once.) */
#define LET_PASS \
    "DO 'BEGIN WHILE EXISTS (SELECT FROM pg_locks t WHERE t.locktype = ''tuple'' AND t.granted AND NOT EXISTS" \
    " (SELECT FROM pg_locks o WHERE o.pid = t.pid AND NOT o.granted)) LOOP PERFORM pg_sleep(0.001); END LOOP; END'"

/* A lock of the warden's, which delays the execution of a late batch as long as needed. */
#define GATE "7426171, 0"

const char *const ground_fate_names[] = {
    [GROUND_LOST] = "lost",
    [GROUND_UNTOLD] = "executed, but not answered",
    [GROUND_ROLLED_BACK] = "rolled back",
    [GROUND_LATE] = "late",
};

static enum lock_method method;
static enum ground_fate fate;
static int fate_count, late;    /* late: the server process of the late batch, or 0 */
static struct pg *opened;       /* the last connection */
static GHashTable *connections; /* of each struct sql; one that is gone is found by nobody */

struct pg *__real_pg_open(const char *conninfo, const char *application, const char *schema, bool verify,
                          struct fault *fault);
struct pg *__wrap_pg_open(const char *conninfo, const char *application, const char *schema, bool verify,
                          struct fault *fault);
struct sql *__real_sql_open(const struct config *config, const char *application, struct fault *fault);
struct sql *__wrap_sql_open(const struct config *config, const char *application, struct fault *fault);
void __real_pg_add(struct pg *pg, const char *sql, size_t count, const struct pg_param *params);
void __wrap_pg_add(struct pg *pg, const char *sql, size_t count, const struct pg_param *params);
int64_t __wrap_message_lock_key(const unsigned char identity[LEDGER_HASH_SIZE]);
bool __real_pg_send(struct pg *pg, struct fault *fault);
bool __wrap_pg_send(struct pg *pg, struct fault *fault);

void wire_open(enum lock_method the_method)
{
    method = the_method;
    connections = g_hash_table_new(NULL, NULL);
    warden_command("SELECT pg_advisory_lock(" GATE ")");
}

struct pg *__wrap_pg_open(const char *conninfo, const char *application, const char *schema, bool verify,
                          struct fault *fault)
{
    return opened = __real_pg_open(conninfo, application, schema, verify, fault);
}

struct sql *__wrap_sql_open(const struct config *config, const char *application, struct fault *fault)
{
    struct sql *sql = __real_sql_open(config, application, fault);
    if (sql != NULL)
        g_hash_table_insert(connections, sql, opened);
    return sql;
}

struct pg *wire_connection(const struct sql *sql)
{
    return sql != NULL ? g_hash_table_lookup(connections, sql) : NULL;
}

int wire_late(void)
{
    return late;
}

void ground_set_fate(enum ground_fate the_fate, int count)
{
    fate = the_fate;
    fate_count = count;
}

/* Whether the fate is this one; if so, uses it up once. */
static bool takes_fate(enum ground_fate which)
{
    if (fate != which || fate_count == 0)
        return false;
    fate_count--;
    return true;
}

bool ground_late(void)
{
    return late != 0;
}

/* Nobody waits any more for the hold after its COMMIT. The gate's own key consists of two numbers (objsubid 2). */
void ground_late_comes(void)
{
    bool gone = false;
    warden_command("SELECT pg_advisory_unlock(" GATE ")");
    while (!gone) {
        if (warden_whether("SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted"
                           " AND objsubid IS DISTINCT FROM 2)",
                           late))
            warden_end_session(late);
        gone = !warden_whether("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", late);
    }
    warden_command("SELECT pg_advisory_lock(" GATE ")");
    late = 0;
}

/* A statement that fails, once in a batch: with a lease that has several COMMITs, and whatever follows the first one that
 * fails is not executed. Or one that waits; it comes after a ROLLBACK that has nothing to roll back, since the server
 * would report that at once, and nobody would read it. */
void __wrap_pg_add(struct pg *pg, const char *sql, size_t count, const struct pg_param *params)
{
    static bool gated, failed;
    bool begins = strcmp(sql, "ROLLBACK") == 0 || strncmp(sql, "BEGIN", 5) == 0 ||
                  (strstr(sql, "@schema@.event") != NULL && strcmp(params[0].data, "held") == 0);
    gated = gated && pg_mark(pg) > 0;
    failed = failed && pg_mark(pg) > 0;
    if (fate_count > 0 && fate == GROUND_LATE && !gated && !begins) {
        gated = true;
        __real_pg_add(pg, "SELECT set_config('lock_timeout', '0', true), pg_advisory_xact_lock_shared(" GATE ")", 0,
                      NULL);
    }
    /* libpq sends the beginning of a long batch before its end is added: nothing of that is executed. */
    if (fate_count > 0 && fate == GROUND_LOST && pg_mark(pg) == 0 && pg_usable(pg))
        kill(PQbackendPID(pg->conn), SIGSTOP);
    if (method == LOCK_METHOD_ROW && strstr(sql, "'lock_timeout'") != NULL && pg_mark(pg) > 1)
        __real_pg_add(pg, LET_PASS, 0, NULL); /* the settings of a transaction that is not the batch's first */
    bool fails = strcmp(sql, "COMMIT") == 0 && !failed && takes_fate(GROUND_ROLLED_BACK);
    failed = failed || fails;
    __real_pg_add(pg, fails ? "SELECT 1 / 0" : sql, count, params);
}

/* The keys of the simulated ledger: the same messages share a row. */
int64_t __wrap_message_lock_key(const unsigned char identity[LEDGER_HASH_SIZE])
{
    return (int64_t)key_of_lock(method, identity);
}

/* Makes sure that the server's answer is not read. */
static void deafen(const struct pg *pg)
{
    char buffer[4096];
    shutdown(PQsocket(pg->conn), SHUT_RDWR);
    while (recv(PQsocket(pg->conn), buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
        ;
}

bool __wrap_pg_send(struct pg *pg, struct fault *fault)
{
    if (takes_fate(GROUND_LOST))
        warden_end_session(PQbackendPID(pg->conn));
    if (!__real_pg_send(pg, fault))
        return false;
    if (takes_fate(GROUND_UNTOLD)) {
        warden_waits_for_lock(pg->conn);
        warden_end_session(PQbackendPID(pg->conn));
        deafen(pg);
    } else if (takes_fate(GROUND_LATE) && warden_waits_for_lock(pg->conn)) { /* not if the session had already ended */
        late = PQbackendPID(pg->conn);
        deafen(pg);
    }
    return true;
}
