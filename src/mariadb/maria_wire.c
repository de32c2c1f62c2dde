/* SPDX-License-Identifier: ISC
 *
 * The connection's socket, and errors. */
#include <errmsg.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "mariadb/maria.h"

#define PACKET_LEAST ((size_t)1 << 20) /* every server takes it; a longer packet may end the connection */

void maria_hang_up(struct sql_session *maria)
{
    my_socket socket = mysql_get_socket(maria->mysql);
    maria->lost = true;
    if (socket >= 0)
        (void)shutdown(socket, SHUT_RDWR);
}

int maria_wait(struct sql_session *maria, int status, int64_t until)
{
    struct pollfd socket = {.fd = mysql_get_socket(maria->mysql)};
    socket.events = (short)((status & MYSQL_WAIT_READ ? POLLIN : 0) | (status & MYSQL_WAIT_WRITE ? POLLOUT : 0) |
                            (status & MYSQL_WAIT_EXCEPT ? POLLPRI : 0));
    int ready = base_poll(&socket, 1, until);
    if (ready > 0)
        return (socket.revents & (POLLIN | POLLHUP | POLLERR) ? MYSQL_WAIT_READ : 0) |
               (socket.revents & (POLLOUT | POLLERR) ? MYSQL_WAIT_WRITE : 0) |
               (socket.revents & POLLPRI ? MYSQL_WAIT_EXCEPT : 0);
    maria_hang_up(maria);
    return 0;
}

bool maria_lose(struct sql_session *maria, struct error *error, const char *what)
{
    const char *reason = mysql_error(maria->mysql);
    error_set(error, "database: %s%s%s%s", what, *reason != '\0' ? ": " : "", reason,
              maria->sent > PACKET_LEAST ? " (is max_allowed_packet at least 16M on the server?)" : "");
    maria_hang_up(maria);
    return false;
}

/* After these errors the next transaction reconnects. */
static bool is_of_no_use(unsigned number)
{
    static const unsigned numbers[] = {
        1053, /* ER_SERVER_SHUTDOWN */
        1077, /* ER_NORMAL_SHUTDOWN */
        1927, /* ER_CONNECTION_KILLED */
        1290, /* ER_OPTION_PREVENTS_STATEMENT, --read-only: another server may have this name or address now */
        1792, /* ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION */
        1836, /* ER_READ_ONLY_MODE */
        1047, /* ER_UNKNOWN_COM_ERROR: a node that lost its cluster */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (number == numbers[i])
            return true;
    return false;
}

/* Returns whether it is the connector's: no connection, or a malformed result. */
static bool is_connectors(unsigned number)
{
    return number == 0 || (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR) || number >= CER_MIN_ERROR;
}

bool maria_statement_failed(struct sql_session *maria, struct error *error)
{
    unsigned number = mysql_errno(maria->mysql);
    if (is_connectors(number))
        return maria_lose(maria, error, SQL_LOST);
    error_set(error, "database: %s (error %u)", mysql_error(maria->mysql), number);
    (void)snprintf(error->code, sizeof(error->code), "%u", number);
    maria->lost = maria->lost || is_of_no_use(number);
    return false;
}

bool maria_send_text(struct sql_session *maria, const char *text, size_t size, struct error *error)
{
    int64_t until = base_now_ms() + maria->timeout_ms;
    int failed = 0, status = 0;
    if (maria->lost)
        return maria_lose(maria, error, SQL_LOST);
    maria->sent = size;
    status = mysql_send_query_start(&failed, maria->mysql, text, size);
    while (status != 0) {
        int ready = maria_wait(maria, status, until);
        if (ready == 0)
            return maria_lose(maria, error, SQL_TIMED_OUT);
        status = mysql_send_query_cont(&failed, maria->mysql, ready);
    }
    return failed == 0 || maria_lose(maria, error, SQL_LOST);
}

bool maria_usable(const struct sql_session *maria)
{
    return !maria->lost;
}

bool maria_in_transaction(const struct sql_session *maria)
{
    unsigned status = 0;
    if (maria->lost || mariadb_get_infov(maria->mysql, MARIADB_CONNECTION_SERVER_STATUS, &status) != 0)
        return false;
    return (status & SERVER_STATUS_IN_TRANS) != 0;
}

/* The server sends nothing unasked, except when it closes the connection. */
void maria_check_connection(struct sql_session *maria)
{
    struct pollfd socket = {.fd = mysql_get_socket(maria->mysql), .events = POLLIN};
    maria->lost = maria->lost || socket.fd < 0 || base_poll(&socket, 1, base_now_ms()) != 0;
}
