/* SPDX-License-Identifier: ISC
 *
 * Classifies errors, and adds hints. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mariadb/maria.h"

const struct sql_failure_code maria_failures[] = {
    {"1205", SQL_FAILURE_LOCK_TIMEOUT}, /* ER_LOCK_WAIT_TIMEOUT */
    {"1213", SQL_FAILURE_CONFLICT},     /* ER_LOCK_DEADLOCK; in a cluster: another node was first */
    {"1305", SQL_FAILURE_NO_LOCK},      /* ER_SP_DOES_NOT_EXIST: no such function */
    {"1698", SQL_FAILURE_NO_USER},      /* ER_ACCESS_DENIED_NO_PASSWORD_ERROR: by unix_socket */
    {"1044", SQL_FAILURE_REFUSED},      /* ER_DBACCESS_DENIED_ERROR */
    {"1142", SQL_FAILURE_REFUSED},      /* ER_TABLEACCESS_DENIED_ERROR */
    {"1143", SQL_FAILURE_REFUSED},      /* ER_COLUMNACCESS_DENIED_ERROR */
    {"1227", SQL_FAILURE_REFUSED},      /* ER_SPECIFIC_ACCESS_DENIED_ERROR */
    {NULL, SQL_FAILURE_OTHER},
};

static char *hint_for(const struct maria_conninfo *conninfo, const char *role, int number)
{
    const struct passwd *passwd = getpwuid(geteuid());
    const char *user = conninfo->user != NULL ? conninfo->user : passwd != NULL ? passwd->pw_name : "";
    switch (number) {
    case 1049: /* ER_BAD_DB_ERROR */
        return base_printf("as its administrator: CREATE DATABASE \"%s\"", conninfo->database);
    case 1146: /* ER_NO_SUCH_TABLE */
        return base_strdup(SQL_INSTALL);
    case 1054: /* ER_BAD_FIELD_ERROR */
    case 1265: /* WARN_DATA_TRUNCATED: a state of a later version */
        return base_strdup(SQL_UPGRADE);
    case 1044:
    case 1142:
    case 1143:
        return base_printf("grant %s the rights of the role %s (oncedrop ledger print)", user, role);
    case 1045: /* ER_ACCESS_DENIED_ERROR */
    case 1698:
        if (number == 1698 && conninfo->user != NULL && passwd != NULL && strcmp(conninfo->user, passwd->pw_name) != 0)
            return base_printf("leave USER out of conninfo, or run it as %s", user);
        return base_printf(
            "as its administrator: CREATE USER '%s'@localhost IDENTIFIED VIA unix_socket, or the password of"
            " another user in password_file",
            user);
    case 1290: /* ER_OPTION_PREVENTS_STATEMENT */
    case 1792: /* ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION */
    case 1836: /* ER_READ_ONLY_MODE */
        return base_strdup("is this a replica? database.conninfo must point to the primary");
    case 1153: /* ER_NET_PACKET_TOO_LARGE */
        return base_strdup("set max_allowed_packet = 16M, or more, on the server");
    case 1665: /* ER_BINLOG_STMT_MODE_AND_ROW_ENGINE */
        return base_strdup("set binlog_format = MIXED or ROW on the server");
    case 1461: /* ER_MAX_PREPARED_STMT_COUNT_REACHED */
        return base_strdup("raise max_prepared_stmt_count on the server");
    case 1040: /* ER_CON_COUNT_ERROR */
    case 1203: /* ER_TOO_MANY_USER_CONNECTIONS */
        return base_strdup("raise max_connections on the server");
    default:
        return NULL;
    }
}

char *maria_hint(const struct config *config, const char *role, const struct error *error)
{
    struct error ignored;
    struct maria_conninfo *conninfo OD_CLEANUP(maria_conninfo_free) =
        maria_conninfo_new(config->database.conninfo, &ignored);
    return conninfo != NULL ? hint_for(conninfo, role, atoi(error->code)) : NULL;
}
