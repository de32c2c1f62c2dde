/* SPDX-License-Identifier: ISC
 *
 * check: is everything in place? Each item is tried as a delivery would use it, and says what to do when it is not. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "ledger/ledger_query.h"
#include "ledger/ledger_schema.h"
#include "mailbox/mailbox.h"

static int failures;

static bool item(bool good, const char *name, const char *text)
{
    char escaped[2048];
    printf("%-8s%-14s%s\n", good ? "ok" : "failed", name, log_escape(text, escaped, sizeof(escaped)));
    fflush(stdout);
    failures += !good;
    return good;
}

static void warning(const char *name, const char *text)
{
    printf("%-8s%-14s%s\n", "warning", name, text);
}

static void check_times(const struct config *config)
{
    if (config->delivery.hold_off < config->delivery.deadline + 200000)
        warning("times", "delivery.hold_off is below delivery.deadline + 200s: an APPEND that a server finishes after its"
                         " client died may be made twice");
    else
        item(true, "times", "hold_off outlives the deadline by 200 s or more");
    if (config->lock.wait == 0)
        warning("lock.wait", "0: of many recipients of one message all but one are deferred and wait for Postfix's next"
                             " queue run; set some seconds");
}

static bool check_schema(struct ledger *ledger)
{
    struct fault fault;
    int version;
    if (!ledger_schema_version(ledger, &version, &fault))
        return item(false, "schema", fault.text);
    char *text OD_CLEANUP(base_free) = base_printf("version %d%s", version, version == ledger_schema_needed() ? "" :
                                                   version == 0 ? ": not installed; run: oncedrop schema install" :
                                                   version < ledger_schema_needed() ? ": too old; run: oncedrop schema upgrade" :
                                                   ": newer than this program; install its release");
    return item(version == ledger_schema_needed(), "schema", text);
}

static void check_rights(struct ledger *ledger)
{
    struct fault fault;
    bool good = ledger_check_rights(ledger, &fault);
    item(good, "rights", good ? "this database user may write what a delivery writes" : fault.text);
}

static void check_lock(const struct config *config, struct ledger *ledger)
{
    struct fault fault;
    bool excludes = false;
    struct ledger *other OD_CLEANUP(ledger_close) = ledger_open(config, NULL, &fault);
    if (other == NULL || !ledger_check_lock(ledger, other, &excludes, &fault))
        item(false, "lock", fault.text);
    else
        item(excludes, "lock", excludes ? "excludes between two sessions and goes with its transaction" : fault.text);
}

static void check_database(const struct config *config)
{
    struct fault fault;
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(config, NULL, &fault);
    if (ledger == NULL) {
        item(false, "database", fault.text);
        return;
    }
    char *version OD_CLEANUP(base_free) = ledger_server_version(ledger, &fault);
    char *text OD_CLEANUP(base_free) = version != NULL ? base_printf("PostgreSQL %s", version) : NULL;
    if (!item(version != NULL, "database", text != NULL ? text : fault.text))
        return;
    if (check_schema(ledger))
        check_rights(ledger);
    check_lock(config, ledger);
}

/* A login needs an account: any that is known, that is imap.user, or one that a delivery went to. */
static void check_imap(const struct config *config, const char *account)
{
    struct fault fault;
    if (account == NULL) {
        warning("imap", "not tried: name an account, as in: oncedrop check user@example.org");
        return;
    }
    struct mailbox *mailbox OD_CLEANUP(mailbox_close) = mailbox_open(config, account, &fault);
    char *text OD_CLEANUP(base_free) = base_printf("logged in as %s", account);
    item(mailbox != NULL, "imap", mailbox != NULL ? text : fault.text);
}

int cmd_check(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    if (argc > 2)
        return cmd_usage("check");
    int status = cmd_open(options, &config, NULL);
    if (status != 0)
        return status;
    item(true, "configuration", options->config_file);
    check_times(config);
    check_database(config);
    const char *account = argc == 2 ? argv[1] : config->imap.user[0] != '\0' ? config->imap.user : NULL;
    check_imap(config, account);
    return failures > 0 ? 1 : 0;
}
