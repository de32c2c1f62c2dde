/* SPDX-License-Identifier: ISC
 *
 * Hints by SQLSTATE and by message. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "postgres/pg.h"

bool pg_login_is_service(const struct config *config)
{
    char *named OD_CLEANUP(base_free) = pg_conninfo_value(config->database.conninfo, "user");
    const char *user = named != NULL ? named : getenv("PGUSER");
    return user == NULL || user[0] == '\0' || strcmp(user, config->service.user) == 0;
}

/* Root operates, others deliver. Without a schema GRANT fails; psql continues. */
char *pg_login_command(const struct config *config, const struct error *error)
{
    const struct passwd *passwd = getpwuid(geteuid());
    const char *user = passwd != NULL ? passwd->pw_name : "";
    char *named OD_CLEANUP(base_free) = pg_conninfo_value(config->database.conninfo, "user");
    char *database OD_CLEANUP(base_free) = pg_conninfo_value(config->database.conninfo, "dbname");
    const char *role = geteuid() == 0 ? SQL_OPERATOR : SQL_DELIVERY;
    if (passwd == NULL)
        return NULL;
    if (strcmp(error->code, PG_NO_ROLE) == 0)
        return base_printf("runuser -u postgres -- psql -c 'CREATE ROLE \"%s\" LOGIN' -c 'GRANT \"%s_%s\" TO \"%s\"'",
                           user, config->database.schema, role, user);
    if (strstr(error->text, "permission denied for database") != NULL)
        return base_printf("runuser -u postgres -- psql -c 'GRANT CONNECT ON DATABASE \"%s\" TO \"%s\"'",
                           database != NULL ? database : user, named != NULL ? named : user);
    if (named != NULL && strcmp(named, user) != 0 && strstr(error->text, "Peer authentication failed") != NULL)
        return base_printf("runuser -u %s -- oncedrop ...", named);
    return NULL;
}

char *pg_hint(const struct config *config, const char *role, const struct error *error)
{
    char *grant OD_CLEANUP(base_free) =
        base_printf("grant the role %s_%s to this database user%s", config->database.schema, role,
                    strcmp(role, SQL_OPERATOR) == 0 ? ", or log in as one that has it" : "");
    const char *const hints[][2] = {
        {"42P01", SQL_INSTALL},                    /* undefined_table */
        {"3F000", "run: oncedrop ledger install"}, /* invalid_schema_name */
        {"42703", SQL_UPGRADE},                    /* undefined_column */
        {"23514", SQL_UPGRADE},                    /* check_violation: a state of a later version */
        {"42501", grant},                          /* insufficient_privilege */
        /* read_only_sql_transaction; also BEGIN READ WRITE during recovery */
        {"25006", "this server is a standby; database.conninfo must point to the primary"},
        {"0A000", "is this a standby? database.conninfo must point to the primary"},
        {"22P05", "the database's encoding must be UTF8"}, /* untranslatable_character */
    };
    const char *hint = NULL;
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strcmp(error->code, hints[i][0]) == 0)
            hint = hints[i][1];
    if (strstr(error->text, "statement pooling") != NULL) /* PgBouncer has one code for all its errors */
        hint = "a pooler in front of the database must be in transaction or session mode";
    return base_strdup(hint);
}
