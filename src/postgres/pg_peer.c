/* SPDX-License-Identifier: ISC
 *
 * Checks the server's identity before password and mail are sent: by name, then by the socket's peer. libpq's
 * sslmode=prefer trusts any server. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "postgres/pg.h"

#define HINT "set sslmode=verify-full and sslrootcert in conninfo (or database.tls = conninfo, if you want less)"

enum pg_peer pg_peer_named(const char *host, const char *hostaddr)
{
    const char *name = hostaddr != NULL && *hostaddr != '\0' ? hostaddr : host;
    if (name == NULL || *name == '\0' || *name == '/' || *name == '@') /* libpq's default is a unix socket */
        return PG_PEER_SOCKET;
    bool is_local = network_is_loopback_text(name) || g_ascii_strcasecmp(name, "localhost") == 0;
    return is_local ? PG_PEER_LOOPBACK : PG_PEER_REMOTE;
}

enum pg_peer pg_peer_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
    } address = {.any = {.sa_family = AF_UNIX}};
    socklen_t size = sizeof(address);
    if (fd < 0 || (getpeername(fd, &address.any, &size) != 0 && errno == ENOTCONN))
        return PG_PEER_SOCKET;
    if (address.any.sa_family == AF_UNIX)
        return PG_PEER_SOCKET;
    return network_is_loopback(&address.any) ? PG_PEER_LOOPBACK : PG_PEER_REMOTE;
}

static bool refuse_host(const char *host, const char *sslmode, struct error *error)
{
    return error_set(error,
                     "database.conninfo: host %.100s is not on this machine, and with sslmode=%.20s anybody in between"
                     " can read the password and the mail; " HINT,
                     host, sslmode);
}

/* Returns "" beyond the end. */
static const char *entry(gchar **list, guint n)
{
    return n < g_strv_length(list) ? list[n] : "";
}

bool pg_peer_check_names(const char *hosts, const char *hostaddrs, const char *sslmode, struct error *error)
{
    g_auto(GStrv) names = g_strsplit(hosts != NULL ? hosts : "", ",", -1);
    g_auto(GStrv) addresses = g_strsplit(hostaddrs != NULL ? hostaddrs : "", ",", -1);
    guint count = MAX(g_strv_length(names), g_strv_length(addresses));
    if (g_strcmp0(sslmode, "verify-full") == 0)
        return true;
    for (guint i = 0; i < count; i++) {
        const char *name = entry(names, i), *address = entry(addresses, i);
        if (pg_peer_named(name, address) == PG_PEER_REMOTE)
            return refuse_host(*address != '\0' ? address : name, sslmode != NULL ? sslmode : "prefer", error);
    }
    return true;
}

bool pg_peer_check(PGconn *conn, struct error *error)
{
    PQconninfoOption *options OD_CLEANUP(pg_options_free) = PQconninfo(conn);
    const char *sslmode = pg_option(options, "sslmode");
    bool verified = g_strcmp0(sslmode, "verify-full") == 0;
    bool good = options != NULL &&
                pg_peer_check_names(pg_option(options, "host"), pg_option(options, "hostaddr"), sslmode, error);
    if (options == NULL)
        error_set(error, "database: the connection's options are unknown: too little memory");
    if (good && !verified && pg_peer_of(PQsocket(conn)) == PG_PEER_REMOTE)
        good = refuse_host(PQhost(conn), sslmode != NULL ? sslmode : "prefer", error);
    return good;
}

const char *pg_tls_summary(const struct sql_session *pg, bool *ret_ok)
{
    PGconn *conn = pg->conn;
    PQconninfoOption *options OD_CLEANUP(pg_options_free) = PQconninfo(conn);
    enum pg_peer peer = pg_peer_of(PQsocket(conn));
    const char *required = pg_option(options, "requirepeer");
    bool has_peer = required != NULL && *required != '\0';
    bool verified = g_strcmp0(pg_option(options, "sslmode"), "verify-full") == 0 && PQsslInUse(conn);
    *ret_ok = peer == PG_PEER_SOCKET || verified || PQgssEncInUse(conn);
    if (peer == PG_PEER_SOCKET)
        return has_peer ? "unix socket of the user in requirepeer"
                        : "unix socket; requirepeer=postgres in conninfo would verify who answers there";
    if (*ret_ok)
        return verified ? SQL_VERIFIED : "encrypted by GSSAPI";
    if (peer == PG_PEER_LOOPBACK)
        return "TCP on this machine: any local user can take the port while PostgreSQL is down, and gets password and mail;"
               " use the unix socket (no host, requirepeer=postgres)";
    return PQsslInUse(conn) ? SQL_UNVERIFIED : SQL_CLEAR;
}
