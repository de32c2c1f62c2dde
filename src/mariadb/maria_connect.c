/* SPDX-License-Identifier: ISC
 *
 * Connecting to the first of several hosts that answers. */
#include <errmsg.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/private.h"
#include "mariadb/maria.h"

#define FLAGS (CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS)

/* A lost connection is closed without a word: the server may read no more. */
static void end_connection(struct sql_session *maria)
{
    if (maria->mysql == NULL)
        return;
    if (maria->lost && mysql_get_socket(maria->mysql) >= 0)
        (void)shutdown(mysql_get_socket(maria->mysql), SHUT_RDWR);
    mysql_close(maria->mysql);
    maria->mysql = NULL;
}

void maria_close(struct sql_session *maria)
{
    if (maria == NULL)
        return;
    end_connection(maria);
    maria_session_free(maria);
}

/* The connector verifies nothing by itself before version 3.4. A certificate authority of the site's own is in ssl_ca; else
 * the system's count. */
static void require_tls(MYSQL *mysql, const struct maria_conninfo *conninfo)
{
    const my_bool on = 1;
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &on);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
    if (conninfo->ssl_ca == NULL)
        mysql_options(mysql, MYSQL_OPT_SSL_CAPATH, "/etc/ssl/certs");
}

static void set_options(struct sql_session *maria, const struct maria_conninfo *conninfo, const char *application,
                        bool verify)
{
    const unsigned protocol = maria->on_socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    const my_bool off = 0;
    maria->mysql = mysql_init(NULL);
    if (maria->mysql == NULL)
        abort(); /* no memory: death by signal defers */
    mysql_options(maria->mysql, MYSQL_OPT_NONBLOCK, 0);
    mysql_options(maria->mysql, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_options(maria->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_options(maria->mysql, MYSQL_OPT_LOCAL_INFILE, NULL);
    mysql_options(maria->mysql, MYSQL_OPT_RECONNECT, &off);
    mysql_options4(maria->mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", application);
    if (conninfo->ssl_ca != NULL)
        mysql_options(maria->mysql, MYSQL_OPT_SSL_CA, conninfo->ssl_ca);
    if (conninfo->ssl_cert != NULL)
        mysql_options(maria->mysql, MYSQL_OPT_SSL_CERT, conninfo->ssl_cert);
    if (conninfo->ssl_key != NULL)
        mysql_options(maria->mysql, MYSQL_OPT_SSL_KEY, conninfo->ssl_key);
    if (verify)
        require_tls(maria->mysql, conninfo);
}

enum connecting { CONNECTED, CONNECTING_FAILED, CONNECTING_SILENT };

static enum connecting connect_host(struct sql_session *maria, const struct maria_conninfo *conninfo,
                                    const struct maria_host *host, const char *user, int64_t until)
{
    MYSQL *done = NULL;
    int status = mysql_real_connect_start(&done, maria->mysql, host->name, user,
                                          conninfo->password != NULL ? conninfo->password : "", conninfo->database,
                                          host->port, maria->on_socket ? conninfo->socket : NULL, FLAGS);
    while (status != 0) {
        int ready = maria_wait(maria, status, until);
        if (ready == 0)
            return CONNECTING_SILENT;
        status = mysql_real_connect_cont(&done, maria->mysql, ready);
    }
    return done != NULL ? CONNECTED : CONNECTING_FAILED;
}

/* MySQL has no RETURNING, other names of collations, and was not tested. */
static bool check_kind(const struct sql_session *maria, struct fault *fault)
{
    const char *version = mysql_get_server_info(maria->mysql);
    if (!mariadb_connection(maria->mysql))
        return fault_set(fault, "database: the server is %s, and not MariaDB: MySQL is not supported", version);
    return mysql_get_server_version(maria->mysql) >= MARIA_OLDEST ||
           fault_set(fault, "database: the server is %s; MariaDB 10.11 or newer is needed", version);
}

/* Adds what the connector said of a host to what was said of those before. */
static void add_host_reason(const struct sql_session *maria, const struct maria_host *host, bool silent,
                            struct fault *fault)
{
    const struct fault was = *fault;
    const char *name = host->name != NULL ? host->name : "localhost";
    fault_set(fault, "%s%s%s: %s",
              was.text[0] != '\0' ? was.text : "database: no connection: ", was.text[0] != '\0' ? "; " : "", name,
              silent ? "no answer in time" : mysql_error(maria->mysql));
    (void)snprintf(fault->code, sizeof(fault->code), "%u", silent ? 0 : mysql_errno(maria->mysql));
}

/* The server's answer to a name and a password is the same on every host. */
static bool is_answer(unsigned error)
{
    return error != 0 && (error < CR_MIN_ERROR || error == CR_SSL_CONNECTION_ERROR);
}

static bool connect_to_any(struct sql_session *maria, const struct config *config,
                           const struct maria_conninfo *conninfo, const char *user, const char *application,
                           struct fault *fault)
{
    int64_t until = base_now_ms() + SQL_TIMEOUT_MS;
    fault->text[0] = '\0';
    for (guint i = 0; i < conninfo->hosts->len; i++) {
        const struct maria_host *host = &g_array_index(conninfo->hosts, struct maria_host, i);
        guint left = conninfo->hosts->len - i;
        int64_t share = (until - base_now_ms()) / left;
        maria->on_socket = host->name == NULL;
        maria->remote = !maria_is_local(host);
        maria->lost = false;
        bool verify = maria->remote && config->database.tls == DATABASE_TLS_VERIFY;
        set_options(maria, conninfo, application, verify);
        enum connecting ended = connect_host(maria, conninfo, host, user, base_now_ms() + MAX(share, 1));
        maria->secured = verify;
        if (ended == CONNECTED)
            return true;
        add_host_reason(maria, host, ended == CONNECTING_SILENT, fault);
        bool last = is_answer(mysql_errno(maria->mysql));
        maria->lost = true;
        end_connection(maria);
        if (last)
            break;
    }
    return false;
}

struct sql_session *maria_open(const struct config *config, const char *application, struct fault *fault)
{
    struct maria_conninfo *conninfo OD_CLEANUP(maria_conninfo_free) =
        maria_conninfo_new(config->database.conninfo, fault);
    const struct passwd *passwd = getpwuid(geteuid());
    if (conninfo == NULL)
        return NULL;
    const char *user = conninfo->user != NULL ? conninfo->user : passwd != NULL ? passwd->pw_name : "";
    if (conninfo->password_file != NULL) {
        base_free_secret(&conninfo->password);
        conninfo->password = private_line(conninfo->password_file, fault);
        if (conninfo->password == NULL) {
            fault_prefix(fault, "[database] conninfo: password_file");
            return NULL;
        }
    }
    struct sql_session *maria = maria_session_new(config);
    if (connect_to_any(maria, config, conninfo, user, application, fault) && check_kind(maria, fault))
        return maria;
    maria_close(maria);
    return NULL;
}

const char *maria_secured(const struct sql_session *maria, bool *ret_good)
{
    *ret_good = maria->on_socket || maria->secured;
    if (maria->on_socket)
        return "unix socket";
    if (maria->secured)
        return "TLS, certificate and name verified";
    if (!maria->remote)
        return "TCP on this machine: any local user can take the port while MariaDB is down, and gets password and mail; use"
               " the unix socket (no host)";
    return mysql_get_ssl_cipher(maria->mysql) != NULL
               ? "TLS, but not verified (database.tls): anybody in between can read password and mail"
               : "in the clear (database.tls): anybody in between can read password and mail";
}
