/* SPDX-License-Identifier: ISC
 *
 * The user's name is looked for where libpq looks for it. */
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

/* root is an operator; whoever else has no role yet is a user for deliveries. */
void ledger_login_add_remedy(const struct config *config, struct fault *fault)
{
    const struct passwd *user = getpwuid(geteuid());
    char *database OD_CLEANUP(base_free) = pg_conninfo_value(config->database.conninfo, "dbname");
    if (strcmp(fault->code, LEDGER_NO_ROLE) != 0 || user == NULL)
        return;
    const char *name = user->pw_name, *schema = config->database.schema;
    fault_set(fault,
              "%s (to let this user in: runuser -u postgres -- psql -d %s -c 'CREATE ROLE \"%s\" LOGIN IN ROLE %s_%s;"
              " GRANT CONNECT ON DATABASE \"%s\" TO \"%s\"')",
              fault->text, database != NULL ? database : name, name, schema,
              geteuid() == 0 ? LEDGER_OPERATOR : LEDGER_DELIVERY, database != NULL ? database : name, name);
    strcpy(fault->code, LEDGER_NO_ROLE);
}
