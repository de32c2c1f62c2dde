/* SPDX-License-Identifier: ISC
 *
 * Connects to the first host that responds. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/pg.h"

struct keywords {
    const char *names[64];
    const char *values[64];
    size_t count;
};

/* Hosts still to try, as libpq's lists; NULL: as in conninfo. */
struct hosts {
    char *lists[PG_LISTS];
};

static void hosts_free(struct hosts *hosts)
{
    for (enum pg_list list = 0; list < PG_LISTS; list++)
        base_free(&hosts->lists[list]);
}

/* libpq would print notices to stderr, which Postfix takes for our reply. One says that the wait for the synchronous
 * standby was cancelled (syncrep.c). Messages are translated, names of functions are not. */
static void take_notice(void *context, const PGresult *result)
{
    struct sql_session *pg = context;
    const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    if (function != NULL && strcmp(function, "SyncRepWaitForLSN") == 0)
        pg->alone = true;
}

static void keywords_add(struct keywords *keywords, const char *name, const char *value)
{
    if (value != NULL && keywords->count + 1 < sizeof(keywords->names) / sizeof(keywords->names[0])) {
        keywords->names[keywords->count] = name;
        keywords->values[keywords->count++] = value;
    }
}

static bool start_connecting(struct sql_session *pg, const char *conninfo, const char *application,
                             const struct hosts *hosts, struct error *error)
{
    static const char *const defaults[][2] = {
        {"keepalives_idle", "30"},     {"keepalives_interval", "10"}, {"keepalives_count", "3"},
        {"tcp_user_timeout", "30000"}, {"connect_timeout", "10"},
    };
    char *message = NULL;
    PQconninfoOption *options OD_CLEANUP(pg_options_free) = PQconninfoParse(conninfo, &message);
    if (options == NULL) {
        char *reason OD_CLEANUP(base_free) = pg_reason_conninfo(conninfo, message != NULL ? message : "");
        PQfreemem(message);
        return error_set(error, "database.conninfo: not a libpq connection string: %s (values with blanks need '...')",
                         reason);
    }
    struct keywords keywords = {.count = 0};
    keywords_add(&keywords, "application_name", application);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        keywords_add(&keywords, defaults[i][0], defaults[i][1]);
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) { /* a later value wins */
        enum pg_list list = pg_list_of(option->keyword);
        const char *left = list < PG_LISTS ? hosts->lists[list] : NULL;
        keywords_add(&keywords, option->keyword, left != NULL ? left : option->val);
    }
    keywords_add(&keywords, "client_encoding", "UTF8");
    pg->conn = PQconnectStartParams(keywords.names, keywords.values, 0); /* sends nothing yet over TCP */
    if (pg->conn == NULL)
        abort(); /* no memory: Postfix defers after a signal */
    PQsetNoticeReceiver(pg->conn, take_notice, pg);
    return true;
}

/* An empty entry is a default. */
static bool may_be(char **list, guint n, const char *actual)
{
    guint count = g_strv_length(list);
    const char *entry = count == 0 ? "" : list[n < count ? n : count - 1];
    return *entry == '\0' || g_strcmp0(entry, actual) == 0;
}

/* Returns a new string; NULL if it is not a list of all hosts. */
static char *without(char **list, guint n, guint hosts)
{
    if (g_strv_length(list) < hosts)
        return NULL;
    g_autoptr(GPtrArray) left = g_ptr_array_new();
    for (guint i = 0; i < hosts; i++)
        if (i != n)
            g_ptr_array_add(left, list[i]);
    g_ptr_array_add(left, NULL);
    g_autofree char *joined = g_strjoinv(",", (char **)left->pdata);
    return base_strdup(joined);
}

/* Of equal hosts returns the last: libpq has tried the others. */
static guint find_current(PGconn *conn, const struct pg_lists *lists)
{
    guint found = lists->hosts - 1;
    while (found > 0 && !(may_be(lists->entries[PG_HOST], found, PQhost(conn)) &&
                          may_be(lists->entries[PG_PORT], found, PQport(conn)) &&
                          may_be(lists->entries[PG_HOSTADDR], found, PQhostaddr(conn))))
        found--;
    return found;
}

/* Returns false if no host is left, or libpq has tried the rest. */
static bool leave_host_out(PGconn *conn, bool unresponsive, struct hosts *ret)
{
    PQconninfoOption *options OD_CLEANUP(pg_options_free) = PQconninfo(conn);
    struct pg_lists lists OD_CLEANUP(pg_lists_clear) = pg_lists_new(options);
    guint current = find_current(conn, &lists), count = lists.hosts;
    if (count == 1 || (!unresponsive && current + 1 == count))
        return false;
    hosts_free(ret);
    for (enum pg_list list = 0; list < PG_LISTS; list++)
        ret->lists[list] = without(lists.entries[list], current, count);
    return true;
}

/* connect_timeout applies only if there are other hosts. */
static int64_t limit_of_host(PGconn *conn, int64_t until)
{
    PQconninfoOption *options OD_CLEANUP(pg_options_free) = PQconninfo(conn);
    struct pg_lists lists OD_CLEANUP(pg_lists_clear) = pg_lists_new(options);
    const char *timeout = pg_option(options, "connect_timeout");
    int64_t limit = timeout != NULL ? g_ascii_strtoll(timeout, NULL, 10) * 1000 : 0;
    return lists.hosts > 1 && limit > 0 ? MIN(until, base_now_ms() + limit) : until;
}

static char *tried(PGconn *conn)
{
    return base_printf("%s port %s", PQhost(conn), PQport(conn));
}

enum connecting {
    CONNECTED,
    CONNECTING_FAILED,
    CONNECTING_UNRESPONSIVE, /* no response from the host */
    CONNECTING_REFUSED,      /* by us; error is set */
};

static enum connecting finish_connecting(struct sql_session *pg, bool verify, int64_t until, struct error *error)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    char *host OD_CLEANUP(base_free) = NULL;
    int64_t limit = until;
    if (verify && !pg_peer_check(pg->conn, error))
        return CONNECTING_REFUSED;
    while (PQstatus(pg->conn) != CONNECTION_BAD && status != PGRES_POLLING_FAILED) {
        if (status == PGRES_POLLING_OK)
            return CONNECTED;
        char *now OD_CLEANUP(base_free) = tried(pg->conn);
        if (g_strcmp0(now, host) != 0) {
            base_free(&host);
            host = base_strdup(now);
            limit = limit_of_host(pg->conn, until);
        }
        if (pg_wait_socket(pg, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, limit) <= 0)
            return CONNECTING_UNRESPONSIVE;
        if ((verify && !pg_peer_check(pg->conn, error)) || !pg_count_received(pg, error))
            return CONNECTING_REFUSED;
        status = PQconnectPoll(pg->conn);
    }
    return CONNECTING_FAILED;
}

/* Appends to *said: libpq's message, or the timeout. */
static void add_reason(const struct sql_session *pg, bool unresponsive, char **said)
{
    char *host OD_CLEANUP(base_free) = tried(pg->conn);
    char *all = base_printf("%s%s%s%s%s", *said, PQerrorMessage(pg->conn), unresponsive ? "no answer from " : "",
                            unresponsive ? host : "", unresponsive ? " in time\n" : "");
    base_free(said);
    *said = all;
}

/* Drops a host that does not respond within connect_timeout or closes the connection. libpq continues only if one is
 * unreachable, or of the wrong kind (target_session_attrs). */
static bool connect_to_one(struct sql_session *pg, const char *conninfo, const char *application, bool verify,
                           struct error *error)
{
    int64_t until = base_now_ms() + SQL_TIMEOUT_MS;
    struct hosts hosts OD_CLEANUP(hosts_free) = {.lists = {NULL}};
    char *said OD_CLEANUP(base_free) = base_strdup("");
    for (;;) {
        if (!start_connecting(pg, conninfo, application, &hosts, error))
            return false;
        enum connecting ended = finish_connecting(pg, verify, until, error);
        if (ended == CONNECTED || ended == CONNECTING_REFUSED)
            return ended == CONNECTED;
        bool unresponsive = ended == CONNECTING_UNRESPONSIVE;
        add_reason(pg, unresponsive, &said);
        if (base_now_ms() >= until || !leave_host_out(pg->conn, unresponsive, &hosts)) {
            char *reason OD_CLEANUP(base_free) = pg_reason(said);
            error_set(error, SQL_NO_CONNECTION "%s: %s", unresponsive ? " within 30 s" : "", reason);
            pg->lost = true;
            break;
        }
        PQfinish(pg->conn);
        pg->conn = NULL;
    }
    if (pg_reason_is_login(pg->conn))
        strcpy(error->code, PG_NO_ROLE); /* libpq has no SQLSTATE for a failed connection */
    else if (strstr(error->text, "session is read-only") != NULL)
        strcpy(error->code, PG_READ_ONLY);
    return false;
}

/* Does what needs the connection, and the server's encoding. */
static bool prepare_session(struct sql_session *pg, const char *schema, struct error *error)
{
    char *quoted = PQescapeIdentifier(pg->conn, schema, strlen(schema));
    pg->schema = base_strdup(quoted);
    PQfreemem(quoted);
    return (pg->schema != NULL && PQsetnonblocking(pg->conn, 1) == 0) ||
           pg_lose(pg, error, "cannot quote database.schema");
}

struct sql_session *pg_open(const struct config *config, const char *application, struct error *error)
{
    struct sql_session *pg = base_alloc(sizeof(*pg));
    bool verify = config->database.tls == DATABASE_TLS_VERIFY;
    pg->timeout_ms = SQL_TIMEOUT_MS;
    pg->receive_max = PG_RECEIVE_MAX;
    pg_statements_begin(pg);
    if (connect_to_one(pg, config->database.conninfo, application, verify, error) &&
        prepare_session(pg, config->database.schema, error))
        return pg;
    pg_close(pg);
    return NULL;
}

void pg_close(struct sql_session *pg)
{
    if (pg->conn != NULL)
        PQfinish(pg->conn);
    g_hash_table_destroy(pg->statements);
    g_ptr_array_unref(pg->prepares);
    base_free(&pg->schema);
    base_free(&pg);
}
