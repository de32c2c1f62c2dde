/* SPDX-License-Identifier: ISC
 *
 * MariaDB. A session's number is that of its connection. */
#include "differential/engine.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mariadb/maria.h"

#define GATE "'oncedrop.differential.gate'"

static int kept = -1; /* the connection of a session that is late */

static void engine_add(struct sql_session *maria, const char *text)
{
    maria_add(maria, text, maria_statements(text), "");
}

/* With $1 for the value, which is a number, a text or bytes. */
static void engine_add_text(struct sql_session *maria, const char *text, struct sql_value value)
{
    GString *marked = g_string_new(text);
    g_string_replace(marked, "@schema@.", "", 0);
    g_string_replace(marked, "$1", "\00100", 0);
    char *sql OD_CLEANUP(base_free) = maria_text(marked->str, &value, NULL);
    maria_add(maria, sql, 1, "");
    g_string_free(marked, TRUE);
}

static int64_t number_of(const struct sql_session *maria)
{
    return (int64_t)mysql_thread_id(maria->mysql);
}

/* Whether the server has said something, or has ended the session. */
static bool has_said(const struct sql_session *maria, int ms)
{
    struct pollfd socket = {.fd = mysql_get_socket(maria->mysql), .events = POLLIN | POLLRDHUP};
    return poll(&socket, 1, ms) > 0;
}

/* It says the first thing before it has done the rest; what was read already, perhaps to the end, it says no more. */
static bool is_replied(const struct sql_session *maria, int ms)
{
    return (has_said(maria, ms) || maria->begun) &&
           !warden_finds(
               "SELECT ID FROM information_schema.PROCESSLIST WHERE ID = $1 AND"
               " COMMAND <> 'Sleep'",
               number_of(maria));
}

/* Whether it waits for the lock of a row. Not by table INNODB_TRX: that is renewed only if it was not read for a tenth
 * of a second. */
static bool waits_for_row(int64_t number)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = warden_ask("SHOW ENGINE INNODB STATUS", SQL_NUMBER(0));
    char *name OD_CLEANUP(base_free) = base_printf("MariaDB thread id %" G_GINT64_FORMAT ",", number);
    g_auto(GStrv) transactions = g_strsplit(sql_text(rows, 0, 2), "---TRANSACTION ", -1);
    for (char **it = transactions; *it != NULL; it++)
        if (strstr(*it, name) != NULL)
            return strstr(*it, "LOCK WAIT") != NULL;
    return false;
}

static bool is_waiting(int64_t number)
{
    return waits_for_row(number) ||
           warden_finds("SELECT ID FROM information_schema.PROCESSLIST WHERE ID = $1 AND STATE = 'User lock'", number);
}

/* Seen three times in a row: a session may wait for an instant, as for one that is about to end. */
static bool engine_waits(const struct sql_session *session)
{
    struct sql_session *maria = (struct sql_session *)(uintptr_t)session;
    int seen = 0;
    while (maria->has_result < maria->asked && !maria->failed && maria_usable(maria)) {
        if (is_replied(maria, seen > 0 ? 20 : 1)) {
            maria_read_all(maria); /* after an error a transaction stays open until its session has read that */
            return false;
        }
        seen = is_waiting(number_of(maria)) ? seen + 1 : 0;
        if (seen == 3)
            return true;
    }
    return false;
}

static bool is_there(int64_t number)
{
    return warden_finds("SELECT ID FROM information_schema.PROCESSLIST WHERE ID = $1", number);
}

static void engine_end(int64_t number)
{
    if (is_there(number))
        (void)warden_finds("BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; KILL $1; END", number);
    while (is_there(number))
        (void)poll(NULL, 0, 1);
}

/* The server must not notice: it stops between two statements if it cannot answer. So the connection stays, and what it
 * says is never read; the session has another one. */
static void engine_deafen(struct sql_session *maria)
{
    int pair[2], fd = mysql_get_socket(maria->mysql);
    if (is_there(number_of(maria)))
        kept = dup(fd);
    if (fd >= 0 && (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || dup2(pair[0], fd) < 0 || close(pair[0]) != 0 ||
                    close(pair[1]) != 0))
        abort();
    g_queue_clear_full(&maria->results, sql_rows_drop);
    maria->failed = maria->lost = true;
    error_set(&maria->error, "the session has ended");
}

static void engine_begin(void)
{
    (void)warden_finds("SELECT GET_LOCK(" GATE ", 60) FROM DUAL WHERE $1 = 0", 0);
}

/* No session waits for the hold after its COMMIT. */
static void late_comes(int64_t number)
{
    (void)warden_finds("SELECT RELEASE_LOCK(" GATE ") FROM DUAL WHERE $1 = 0", 0);
    while (warden_finds("SELECT ID FROM information_schema.PROCESSLIST WHERE ID = $1 AND COMMAND <> 'Sleep'", number) &&
           !waits_for_row(number)) {
    }
    engine_end(number);
    base_close(&kept);
    engine_begin();
}

const struct fixture_engine fixture_engine = {
    .read_message = "SELECT id, TIMESTAMPDIFF(SECOND, '1970-01-01', received_at) FROM message WHERE digest = $1",
    .read_copies =
        "SELECT c.account, c.mailbox, c.role, c.state, CASE WHEN c.doubt THEN 't' ELSE 'f' END,"
        " CASE WHEN c.error IS NULL THEN 'f' ELSE 't' END, c.generation, c.repeated,"
        " TIMESTAMPDIFF(HOUR, c.claimed_at, UTC_TIMESTAMP(6)), TIMESTAMPDIFF(HOUR, c.first_at, UTC_TIMESTAMP(6)),"
        " c.claim, d.recipient, c.uidvalidity, c.uid"
        " FROM copy c JOIN delivery d ON d.id = c.claimed_by WHERE c.message = $1",
    .age_copies = "UPDATE copy SET claimed_at = claimed_at - INTERVAL $1 HOUR, first_at = first_at - INTERVAL $1 HOUR",
    .age_leases = "UPDATE lease SET expires_at = expires_at - INTERVAL $1 HOUR",
    .add_text = engine_add_text,
    .add = engine_add,
    .fails = "SELECT nothing FROM DUAL",
    .gate = "DO GET_LOCK(" GATE ", 3600), RELEASE_LOCK(" GATE ")",
    .begin = engine_begin,
    .late_comes = late_comes,
    .number_of = number_of,
    .waits = engine_waits,
    .end = engine_end,
    .deafen = engine_deafen,
};
