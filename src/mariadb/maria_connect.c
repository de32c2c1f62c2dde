/* SPDX-License-Identifier: ISC
 *
 * Connects to the first host that responds. */
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mariadb/maria.h"

#define FLAGS (CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS)
#define STACK_BYTES \
    ((size_t)256 * 1024) /* of the connector's coroutine, which resolves names and verifies certificates */

/* base_now_ms() */
static int64_t connect_until;

/* Replaces poll(2) in a TLS handshake, which the connector does not leave. */
static int wait_in_handshake(my_socket handle, my_bool is_read, int timeout)
{
    struct pollfd socket = {.fd = handle, .events = is_read ? POLLIN : POLLOUT};
    (void)timeout;
    return base_poll(&socket, 1, connect_until);
}

/* Closes a lost connection without COM_QUIT: the server may not read. */
static void end_connection(struct sql_session *maria)
{
    if (maria->mysql == NULL)
        return;
    if (maria->lost)
        maria_hang_up(maria);
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

/* Before 3.4 the connector verifies nothing by default; later it requires TLS even unverified. ssl_ca replaces the
 * system's authorities. */
static void set_tls(MYSQL *mysql, const struct maria_conninfo *conninfo, bool verify)
{
    const my_bool on = verify;
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &on);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
    if (verify && conninfo->ssl_ca == NULL)
        mysql_options(mysql, MYSQL_OPT_SSL_CAPATH, "/etc/ssl/certs");
}

static void set_options(struct sql_session *maria, const struct maria_conninfo *conninfo, const char *application,
                        bool verify)
{
    const unsigned protocol = maria->on_socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    const size_t stack = STACK_BYTES;
    const unsigned no_files = 0; /* NULL would allow them */
    const my_bool off = 0;
    maria->mysql = mysql_init(NULL);
    if (maria->mysql == NULL)
        abort(); /* no memory: Postfix defers after a signal */
    mysql_options(maria->mysql, MYSQL_OPT_NONBLOCK, &stack);
    mysql_options(maria->mysql, MARIADB_OPT_IO_WAIT, (const void *)wait_in_handshake);
    mysql_options(maria->mysql, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_options(maria->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_options(maria->mysql, MYSQL_OPT_LOCAL_INFILE, &no_files);
    mysql_options(maria->mysql, MYSQL_OPT_RECONNECT, &off);
    mysql_options4(maria->mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", application);
    set_tls(maria->mysql, conninfo, verify);
    if (conninfo->ssl_ca != NULL)
        mysql_options(maria->mysql, MYSQL_OPT_SSL_CA, conninfo->ssl_ca);
    if (conninfo->ssl_cert != NULL)
        mysql_options(maria->mysql, MYSQL_OPT_SSL_CERT, conninfo->ssl_cert);
    if (conninfo->ssl_key != NULL)
        mysql_options(maria->mysql, MYSQL_OPT_SSL_KEY, conninfo->ssl_key);
}

/* The connector leaves the socket blocking: OpenSSL would wait in read(2) without limit. */
static void set_nonblocking(MYSQL *mysql)
{
    my_socket socket = mysql_get_socket(mysql);
    int flags = socket >= 0 ? fcntl(socket, F_GETFL) : -1;
    if (flags >= 0)
        (void)fcntl(socket, F_SETFL, flags | O_NONBLOCK);
}

static bool connect_host(struct sql_session *maria, const struct maria_conninfo *conninfo,
                         const struct maria_host *host, const char *user, int64_t until, struct error *error)
{
    /* limits read(2) in a handshake before O_NONBLOCK */
    const unsigned seconds = (unsigned)(MAX(until - base_now_ms(), 0) / 1000 + 1);
    MYSQL *done = NULL;
    connect_until = until;
    mysql_options(maria->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    int status = mysql_real_connect_start(&done, maria->mysql, host->name, user,
                                          conninfo->password != NULL ? conninfo->password : "", conninfo->database,
                                          host->port, maria->on_socket ? conninfo->socket : NULL, FLAGS);
    while (status != 0) {
        int ready = maria_wait(maria, status, until);
        if (ready == 0)
            return error_set(error, SQL_TIMED_OUT);
        set_nonblocking(maria->mysql);
        status = mysql_real_connect_cont(&done, maria->mysql, ready);
    }
    set_nonblocking(maria->mysql);
    if (done != NULL)
        return true;
    if (base_now_ms() >= until)
        return error_set(error, SQL_TIMED_OUT);
    error_set(error, "%s", mysql_error(maria->mysql));
    (void)snprintf(error->code, sizeof(error->code), "%u", mysql_errno(maria->mysql));
    return false;
}

/* Returns false for a replica, and for a node without its cluster, which refuses access to tables. Before
 * installation there are none. */
static bool takes_writes(struct sql_session *maria, int64_t until, struct error *error)
{
    static const char question[] =
        "SELECT 0 * (SELECT count(*) FROM agreed) + (concat(@@GLOBAL.read_only) NOT IN ('0', 'OFF'))";
    maria->timeout_ms = MAX(until - base_now_ms(), 1);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        maria_send_text(maria, question, strlen(question), error) ? maria_read(maria, true, "", error) : NULL;
    maria->timeout_ms = SQL_TIMEOUT_MS;
    if (rows == NULL)
        return !maria->lost;
    return sql_number(rows, 0, 0) == 0 || error_set(error, "it is read-only: a replica, or a node without its cluster");
}

/* MySQL has no RETURNING and other collations, and is untested. */
static bool check_kind(const struct sql_session *maria, struct error *error)
{
    const char *version = mysql_get_server_info(maria->mysql);
    if (!mariadb_connection(maria->mysql))
        return error_set(error, "database: the server is %s, and not MariaDB: MySQL is not supported", version);
    return mysql_get_server_version(maria->mysql) >= MARIA_OLDEST ||
           error_set(error, "database: the server is %s; MariaDB 10.11 or newer is needed", version);
}

static void add_host_reason(const struct maria_host *host, const struct error *reason, struct error *error)
{
    const struct error was = *error;
    const char *name = host->name != NULL ? host->name : "localhost";
    error_set(error, "%s%s%s: %s", was.text[0] != '\0' ? was.text : SQL_NO_CONNECTION ": ",
              was.text[0] != '\0' ? "; " : "", name, reason->text);
    memcpy(error->code, reason->code, sizeof(reason->code));
}

/* Other hosts would refuse user, password or database, too, and some lock users out. */
static bool is_refusal(const struct error *reason)
{
    static const char *const codes[] = {
        "1044", /* ER_DBACCESS_DENIED_ERROR */
        "1045", /* ER_ACCESS_DENIED_ERROR */
        "1049", /* ER_BAD_DB_ERROR */
        "1698", /* ER_ACCESS_DENIED_NO_PASSWORD_ERROR */
        NULL,
    };
    return g_strv_contains(codes, reason->code);
}

static bool connect_to_any(struct sql_session *maria, const struct config *config,
                           const struct maria_conninfo *conninfo, const char *user, const char *application,
                           struct error *error)
{
    struct error reason = {.text = ""};
    int64_t until = base_now_ms() + SQL_TIMEOUT_MS;
    error->text[0] = '\0';
    for (guint i = 0; i < conninfo->hosts->len && !is_refusal(&reason); i++) {
        const struct maria_host *host = &g_array_index(conninfo->hosts, struct maria_host, i);
        int64_t share = (until - base_now_ms()) / (conninfo->hosts->len - i);
        int64_t own = base_now_ms() + MAX(share, 1);
        maria->on_socket = host->name == NULL;
        maria->remote = !maria_is_local(host);
        maria->lost = false;
        maria->tls_summary = !maria->on_socket && (conninfo->ssl_ca != NULL ||
                                                   (maria->remote && config->database.tls == DATABASE_TLS_VERIFY));
        set_options(maria, conninfo, application, maria->tls_summary);
        if (connect_host(maria, conninfo, host, user, own, &reason) &&
            (conninfo->hosts->len == 1 || takes_writes(maria, own, &reason)))
            return true;
        add_host_reason(host, &reason, error);
        maria->lost = true;
        end_connection(maria);
    }
    return false;
}

struct sql_session *maria_open(const struct config *config, const char *application, struct error *error)
{
    struct maria_conninfo *conninfo OD_CLEANUP(maria_conninfo_free) =
        maria_conninfo_new(config->database.conninfo, error);
    const struct passwd *passwd = getpwuid(geteuid());
    if (conninfo == NULL)
        return NULL;
    const char *user = conninfo->user != NULL ? conninfo->user : passwd != NULL ? passwd->pw_name : "";
    if (conninfo->password_file != NULL) {
        base_free_secret(&conninfo->password);
        conninfo->password = secret_file_line(conninfo->password_file, error);
        if (conninfo->password == NULL) {
            error_prefix(error, "database.conninfo: password_file");
            return NULL;
        }
    }
    struct sql_session *maria = maria_session_new(config);
    if (connect_to_any(maria, config, conninfo, user, application, error) && check_kind(maria, error))
        return maria;
    maria_close(maria);
    return NULL;
}

const char *maria_tls_summary(const struct sql_session *maria, bool *ret_ok)
{
    *ret_ok = maria->on_socket || maria->tls_summary;
    if (maria->on_socket)
        return "unix socket";
    if (maria->tls_summary)
        return SQL_VERIFIED;
    if (!maria->remote)
        return "TCP on this machine: any local user can take the port while MariaDB is down, and gets password and mail; use"
               " the unix socket (no host)";
    return mysql_get_ssl_cipher(maria->mysql) != NULL ? SQL_UNVERIFIED : SQL_CLEAR;
}
