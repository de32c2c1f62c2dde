/* SPDX-License-Identifier: ISC
 *
 * check: is everything in place? Each item is tried as a delivery would use it, and says what to do when it is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/privilege.h"
#include "cmd/check_report.h"
#include "cmd/cmd.h"
#include "ledger/ledger_query.h"
#include "ledger/ledger_schema.h"
#include "mailbox/mailbox.h"

static void check_times(const struct config *config)
{
    if (config->delivery.hold_off < config->delivery.deadline + 200000)
        check_warning("times", "delivery.hold_off is below delivery.deadline + 200s: a message that a server stores after"
                               " its client died may be stored twice");
    else
        check_item(true, "times", "hold_off outlives the deadline by 200 s or more");
    if (config->lock.wait == 0)
        check_warning("lock.wait", "0: of many recipients of one message all but one are deferred until Postfix's next"
                                   " queue run; set some seconds");
}

static bool check_schema(struct ledger *ledger)
{
    struct fault fault;
    int version, needed = ledger_schema_needed();
    if (!ledger_schema_version(ledger, &version, &fault))
        return check_item(false, "schema", "%s", fault.text);
    if (version == 0)
        return check_item(false, "schema", "not installed; run: oncedrop schema install");
    if (version < needed)
        return check_item(false, "schema", "version %d is too old; run: oncedrop schema upgrade", version);
    if (version > needed)
        return check_item(false, "schema", "version %d is newer than this program knows (%d)", version, needed);
    return check_item(true, "schema", "version %d", version);
}

static void check_rights(struct ledger *ledger)
{
    struct fault fault;
    if (ledger_check_rights(ledger, &fault))
        check_item(true, "rights", "this database user may write what a delivery writes");
    else
        check_item(false, "rights", "%s", fault.text);
}

static void check_lock(const struct config *config, struct ledger *ledger)
{
    struct fault fault;
    bool excludes = false;
    struct ledger *other OD_CLEANUP(ledger_close) = ledger_open(config, NULL, &fault);
    if (other != NULL && ledger_check_lock(ledger, other, &excludes, &fault) && excludes)
        check_item(true, "lock", "excludes between two sessions and goes with its transaction");
    else
        check_item(false, "lock", "%s", fault.text);
}

/* Returns the server's max_connections; 0 when it cannot be asked. */
static int64_t check_database(const struct config *config)
{
    struct fault fault;
    int64_t max_connections = 0;
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(config, NULL, &fault);
    char *version OD_CLEANUP(base_free) =
        ledger != NULL ? ledger_server_version(ledger, &max_connections, &fault) : NULL;
    if (version == NULL) {
        check_item(false, "database", "%s", fault.text);
        return 0;
    }
    check_item(true, "database", "PostgreSQL %s", version);
    if (check_schema(ledger))
        check_rights(ledger);
    check_lock(config, ledger);
    return max_connections;
}

/* A login needs an account: the one given, or the one that imap.user names. */
static void check_imap(const struct config *config, const char *account)
{
    struct fault fault;
    if (account == NULL && config->imap.user[0] != '\0')
        account = config->imap.user;
    if (account == NULL) {
        check_warning("imap", "not tried: name an account, as in: oncedrop check user@example.org");
        return;
    }
    struct mailbox *mailbox OD_CLEANUP(mailbox_close) = mailbox_open(config, account, &fault);
    if (mailbox != NULL)
        check_item(true, "imap", "logged in as %s", account);
    else
        check_item(false, "imap", "%s", fault.text);
}

int cmd_check(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    if (argc > 2)
        return cmd_usage("check");
    char *postfix OD_CLEANUP(base_free) = base_strdup(getenv("MAIL_CONFIG"));
    privilege_clear_environment(cmd_environment);   /* as a delivery does: its libpq sees no PGHOST either */
    int status = cmd_open(options, &config, NULL);
    if (status != 0)
        return status;
    check_item(true, "configuration", "%s", options->config_file);
    check_times(config);
    int64_t max_connections = check_database(config);
    check_imap(config, argc == 2 ? argv[1] : NULL);
    check_postfix(config, max_connections, postfix);
    return check_failures() > 0 ? 1 : 0;
}
