/* SPDX-License-Identifier: ISC
 *
 * The user name is taken from where libpq would take it. */
#include "ledger/ledger_login.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/ledger_session.h"

bool ledger_login_is_service(const struct config *config)
{
    char *named OD_CLEANUP(base_free) = pg_conninfo_value(config->database.conninfo, "user");
    const char *user = named != NULL ? named : getenv("PGUSER");
    return user == NULL || user[0] == '\0' || strcmp(user, config->service.user) == 0;
}

/* What to type if the connection was refused: a new string, or NULL. root gets an operator's role; any other user
 * without a role is assumed to deliver. Before the schema is installed there is nothing to grant, and psql goes on: the user
 * is let in, and is told next to install it. */
static char *remedy(const struct config *config, const char *user, const struct fault *fault)
{
    char *named OD_CLEANUP(base_free) = pg_conninfo_value(config->database.conninfo, "user");
    char *database OD_CLEANUP(base_free) = pg_conninfo_value(config->database.conninfo, "dbname");
    const char *role = geteuid() == 0 ? LEDGER_OPERATOR : LEDGER_DELIVERY;
    if (strcmp(fault->code, LEDGER_NO_ROLE) == 0)
        return base_printf("runuser -u postgres -- psql -c 'CREATE ROLE \"%s\" LOGIN' -c 'GRANT \"%s_%s\" TO \"%s\"'",
                           user, config->database.schema, role, user);
    if (strstr(fault->text, "permission denied for database") != NULL)
        return base_printf("runuser -u postgres -- psql -c 'GRANT CONNECT ON DATABASE \"%s\" TO \"%s\"'",
                           database != NULL ? database : user, named != NULL ? named : user);
    if (named != NULL && strcmp(named, user) != 0 && strstr(fault->text, "Peer authentication failed") != NULL)
        return base_printf("runuser -u %s -- oncedrop ...", named); /* the server asks the kernel who we are */
    return NULL;
}

void ledger_login_add_remedy(const struct config *config, struct fault *fault)
{
    const struct passwd *user = getpwuid(geteuid());
    char *command OD_CLEANUP(base_free) = user != NULL ? remedy(config, user->pw_name, fault) : NULL;
    char code[sizeof(fault->code)];
    memcpy(code, fault->code, sizeof(code));
    if (command != NULL)
        fault_set(fault, "%s" LEDGER_TYPE "%s", fault->text, command);
    memcpy(fault->code, code, sizeof(code));
}
