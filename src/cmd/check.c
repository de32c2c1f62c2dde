/* SPDX-License-Identifier: ISC
 *
 * check: tests each item as a delivery uses it, and says what to do, within a minute. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/check.h"
#include "decode/decoded.h"
#include "delivery/sessions.h"
#include "ledger/ledger_check.h"

/* A delivery must be able to read the file, too. */
static void check_configuration(const struct cmd *cmd)
{
    struct error error;
    struct config *own OD_CLEANUP(config_free) = config_load(cmd->config_file, cmd->overrides, &error);
    check_item(own != NULL, "configuration", "%s", own != NULL ? cmd->config_file : error.text);
    const char *user = cmd->config->service.user;
    if (getuid() == 0 && user[0] != '\0' && ledger_login_is_service(cmd->config) && getpwnam(user) == NULL)
        check_item(CHECK_WARNING, "user",
                   "service.user = %s: there is no such user, so this check runs as root; set it to the user that"
                   " deliveries run as",
                   user);
}

/* Returns true if a delivery has time to report an unresponsive server; else warns. */
static bool check_timeout(const struct config *config, const struct config *server)
{
    if (config->lock.wait + server->imap.timeout < config->delivery.deadline)
        return true;
    check_item(CHECK_WARNING, "times",
               "lock.wait and imap.timeout%s%s together are not below delivery.deadline: if the IMAP server"
               " does not respond, the deadline ends the delivery before it can report that; shorten imap.timeout",
               *server->name != '\0' ? " of server " : "", server->name);
    return false;
}

static void check_time_limits(const struct config *config)
{
    bool outlives = config->delivery.hold_off >= config_safe_hold_off(config);
    bool explains = check_timeout(config, config);
    for (size_t i = 0; i < config_server_count(config); i++)
        explains &= check_timeout(config, config->servers[i]);
    if (!outlives)
        check_item(CHECK_WARNING, "times",
                   "delivery.hold_off is below delivery.deadline + %ds: a message that a server stores after"
                   " its client died may be stored twice",
                   CONFIG_STORE_MS / 1000);
    if (outlives && explains)
        check_item(
            true, "times",
            "hold_off exceeds the deadline by at least %d s, and lock.wait and imap.timeout fit into the deadline",
            CONFIG_STORE_MS / 1000);
    if (config->lock.wait == 0)
        check_item(CHECK_WARNING, "lock.wait",
                   "0: if a message has several recipients, all but one are deferred until Postfix's next"
                   " queue run; set it to some seconds");
}

static void check_sessions(const struct config *config)
{
    size_t max;
    struct error error;
    if (!sessions_suffice(config, &max, &error))
        check_item(CHECK_WARNING, "imap.sessions", "%lld: a process will have at most %zu: %s",
                   (long long)config->imap.sessions, max, error.text);
}

static void step_lock(struct check *check)
{
    struct ledger_check_lock lock;
    struct error error;
    if (!check->connected)
        return;
    if (!ledger_check_lock(check->cmd->config, &lock, &error))
        check_item(false, "lock", "%s", error.text);
    else if (lock.hosts > 1)
        check_item(true, "lock", "excludes a second session, also between %zu hosts, and is free again afterwards",
                   lock.hosts);
    else
        check_item(true, "lock", "excludes a second session, and is free again afterwards");
    if (lock.left_out != NULL)
        check_item(CHECK_WARNING, "hosts", "the lock was not tested with all of database.conninfo's hosts: %s",
                   lock.left_out);
    base_free(&lock.left_out);
}

/* Stops at the first failure, which probably explains all others. */
static void step_engine(struct check *check)
{
    struct error text;
    const char *name;
    enum sql_self_test self_test = SQL_SELF_TEST_OK;
    for (size_t n = 0; self_test != SQL_SELF_TEST_FAILED; n++) {
        self_test = ledger_self_test(check->cmd->config, check->connected, n, &name, &text);
        if (self_test == SQL_SELF_TEST_END)
            return;
        check_item(self_test == SQL_SELF_TEST_WARNING  ? CHECK_WARNING
                   : self_test == SQL_SELF_TEST_FAILED ? CHECK_FAILED
                                                       : CHECK_OK,
                   name, "%s", text.text);
    }
}

static void step_ledger(struct check *check)
{
    struct error error;
    if (!check->fits)
        return;
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(check->cmd->config, NULL, &error);
    bool written = ledger != NULL && ledger_check_write(ledger, &error);
    check_item(written, "ledger", "%s", written ? "a record and a claim were written and rolled back" : error.text);
}

/* sent: or NULL. */
static void set_place(struct check *check, const struct config *server, const char *account, const char *inbox,
                      const char *sent)
{
    check->routed = true;
    snprintf(check->server, sizeof(check->server), "%s", server->name);
    snprintf(check->account, sizeof(check->account), "%s", account);
    snprintf(check->inbox, sizeof(check->inbox), "%s", inbox);
    snprintf(check->sent, sizeof(check->sent), "%s", sent != NULL ? sent : "");
}

/* Without an address, only imap.user can name an account. */
static void step_route(struct check *check)
{
    struct cmd *cmd = check->cmd;
    const struct config *config = cmd->config;
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    bool asks = config->route.account_query[0] != '\0';
    if (check->address == NULL) {
        if (config->imap.user[0] != '\0' && !config_is_shared(config))
            set_place(check, config, config->imap.user, config->route.inbox, config->route.sent);
        return;
    }
    if (asks && !check->connected) {
        check_item(CHECK_WARNING, "route", "not tried: route.account_query needs the database");
        return;
    }
    if (asks)
        cmd->ledger = ledger_open(config, NULL, &cmd->error);
    bool found = (cmd->ledger != NULL || !asks) && cmd_find_route(cmd, check->address, &route) == ROUTE_OK;
    if (found) {
        set_place(check, route.server, route.account, route.inbox, route.sent);
        bool named = *route.server->name != '\0';
        check_item(true, "route", "account %s (%s), inbox %s (%s), Sent copies %s%s (%s)%s%s%s%s%s", route.account,
                   route.account_by, route.inbox, route.inbox_by, route.sent != NULL ? "in " : "none",
                   route.sent != NULL ? route.sent : "", route.sent_by, named ? ", server " : "", route.server->name,
                   named ? " (" : "", named ? route.server_by : "", named ? ")" : "");
    } else {
        check_item(false, "route", "%s", cmd->error.text);
    }
    ledger_close(&cmd->ledger);
}

static void step_decoder(struct check *check)
{
    struct error error;
    (void)check;
    const struct decode_module *module = decoding_load_module(&error);
    if (module == NULL) {
        check_item(false, "decoder", "%s", error.text);
        return;
    }
#ifndef __SANITIZE_ADDRESS__
    int errnum = module->sandbox(NULL);
    if (errnum != 0)
        check_item(CHECK_WARNING, "decoder",
                   "a filter of its system calls cannot be set, so a flaw in a library that decodes could "
                   "reach files and servers: %s",
                   strerror(errnum));
#endif
}

/* A step with nothing to test reports nothing. */
static const struct {
    const char *name;
    int64_t ms;
    const char *timeout_text;
    void (*run)(struct check *check);
} steps[] = {
    {"decoder", 10000, "loading it takes too long", step_decoder},
    {"database", 10000, CHECK_UNRESPONSIVE, check_database},
    {"files", 15000, "another process does not stop writing to the ledger", step_engine},
    /* three transactions of up to 4 s each (ledger_check_lock.c) */
    {"lock", 15000, "the database does not answer any more", step_lock},
    {"ledger", 8000, "the database does not answer, or a table is locked", step_ledger},
    {"route", 8000, "the database does not answer route.account_query", step_route},
    {"imap", 17000, "answers are slow, and a delivery needs more of them", check_imap},
    {"servers", 13000, "answers are slow", check_servers},
    {"service", 3000, "no worker of the service is free", check_service},
    {"postfix", 7000, "postconf does not finish", check_postfix},
};

/* Runs all but --send, as service.user. Returns an exit status; only 0 has a report. */
static int examine_all(struct check *check)
{
    struct cmd *cmd = check->cmd;
    int status = cmd_open(cmd, CMD_AS_SERVICE);
    if (status != 0)
        return status;
    check_configuration(cmd);
    check_time_limits(cmd->config);
    check_sessions(cmd->config);
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
        check_step(steps[i].name, steps[i].ms, steps[i].timeout_text, steps[i].run, check);
    return 0;
}

/* Runs examine_all() in a child process, which drops privileges. */
static int examine_apart(struct check *check)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return cmd_fail(EX_OSERR, "check: cannot start a process: %m");
    if (child == 0)
        _exit(examine_all(check));
    int status = base_wait(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
}

static int examine_and_send(struct check *check)
{
    int status = examine_apart(check);
    if (status == 0)
        status = cmd_open(check->cmd, CMD_AS_CALLER);
    if (status != 0)
        return status;
    if (check_failures() > 0 || !check->routed)
        check_item(false, "send", "nothing was sent, since something above failed");
    else
        check_step("send", CHECK_SEND_MS,
                   "neither stored nor deferred: the ledger does not know the message, see mailq(1) and Postfix's log",
                   check_send, check);
    return 0;
}

int cmd_check(struct cmd *cmd)
{
    struct check *check = check_shared(sizeof(*check));
    bool sends = cmd->options.send, quick = cmd->options.quick;
    if (sends ? cmd->operands[0] == NULL : quick && cmd->operands[0] != NULL)
        return cmd_wrong(cmd, sends ? "--send needs an address: who is to get the message?"
                                    : "--quick takes no address, and no other test");
    char *postfix OD_CLEANUP(base_free) = base_strdup(getenv("MAIL_CONFIG"));
    cmd_clear_environment(); /* PGHOST must not choose the database */
    check_begin(cmd->options.json);
    *check = (struct check){.cmd = cmd, .address = cmd->operands[0], .postfix = postfix};
    if (quick)
        return check_quick(check);
    int status = sends ? examine_and_send(check) : examine_all(check);
    return status != 0 ? status : check_end();
}
