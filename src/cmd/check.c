/* SPDX-License-Identifier: ISC
 *
 * check: is everything in place? Each item is tried as a delivery would use it, and says what to do when it is not.
 * Whatever is broken, all of it together takes less than a minute: the limits below. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/terminal.h"
#include "cmd/check_postfix.h"
#include "cmd/check_report.h"
#include "cmd/cmd.h"
#include "ledger/ledger_check.h"
#include "ledger/ledger_query.h"
#include "ledger/ledger_schema.h"
#include "ledger/ledger_server.h"
#include "mailbox/mailbox.h"

#define DATABASE_MS 10000
#define LOCK_MS 15000 /* three transactions that may each wait 4 s (ledger_check.h) */
#define LEDGER_MS 8000
#define IMAP_MS 17000
#define IMAP_ANSWER_MS 8000
#define POSTFIX_MS 7000

#define DAY INT64_C(86400)
#define RENEW_DAYS 14

/* What the steps need, and what one of them finds out for another: shared between their processes. */
struct check {
    const struct config *config;
    const char *account;     /* NULL: none given */
    const char *postfix;     /* directory of its configuration, NULL: the default */
    bool connected, fits;    /* the database answers; it has the right schema */
    int64_t max_connections; /* of the database; 0: not known */
};

static void check_times(const struct config *config)
{
    bool outlives = config->delivery.hold_off >= config->delivery.deadline + 200000;
    bool explains = config->lock.wait + config->imap.timeout < config->delivery.deadline;
    if (!outlives)
        check_warning("times",
                      "delivery.hold_off is below delivery.deadline + 200s: a message that a server stores after"
                      " its client died may be stored twice");
    if (!explains)
        check_warning("times",
                      "lock.wait and imap.timeout together are not below delivery.deadline: with a silent IMAP"
                      " server the deadline ends the delivery before it can say so; shorten imap.timeout");
    if (outlives && explains)
        check_item(true, "times",
                   "hold_off outlives the deadline by 200 s or more, lock.wait and imap.timeout fit in it");
    if (config->lock.wait == 0)
        check_warning("lock.wait",
                      "0: of many recipients of one message all but one are deferred until Postfix's next"
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

static void check_transport(const struct ledger *ledger)
{
    bool good;
    const char *text = ledger_check_secured(ledger, &good);
    if (good)
        check_item(true, "transport", "%s", text);
    else
        check_warning("transport", "%s", text);
}

static void step_database(void *context)
{
    struct check *check = context;
    struct fault fault;
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(check->config, NULL, &fault);
    char *version OD_CLEANUP(base_free) =
        ledger != NULL ? ledger_server_version(ledger, &check->max_connections, &fault) : NULL;
    if (!check_item(version != NULL, "database", version != NULL ? "PostgreSQL %s" : "%s",
                    version != NULL ? version : fault.text))
        return;
    check->connected = true;
    check_transport(ledger);
    check->fits = check_schema(ledger);
}

static void step_lock(void *context)
{
    const struct check *check = context;
    struct fault fault;
    bool excludes = false;
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(check->config, NULL, &fault);
    struct ledger *other OD_CLEANUP(ledger_close) = ledger != NULL ? ledger_open(check->config, NULL, &fault) : NULL;
    if (other != NULL && ledger_check_lock(ledger, other, &excludes, &fault) && excludes)
        check_item(true, "lock", "excludes between two sessions and goes with its transaction");
    else
        check_item(false, "lock", "%s", fault.text);
}

static void step_ledger(void *context)
{
    const struct check *check = context;
    struct fault fault;
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(check->config, NULL, &fault);
    if (ledger != NULL && ledger_check_write(ledger, &fault))
        check_item(true, "ledger", "a record and a claim were written, and taken back");
    else
        check_item(false, "ledger", "%s", fault.text);
}

static const char *date_text(int64_t seconds, char text[32])
{
    struct tm tm;
    time_t time = (time_t)seconds;
    if (gmtime_r(&time, &tm) == NULL || strftime(text, 32, "%Y-%m-%d %H:%M UTC", &tm) == 0)
        strcpy(text, "an unknown date");
    return text;
}

/* why: what is wrong with it, when it is not accepted. Returns whether a delivery gets past it. */
static bool check_certificate(const struct mailbox_probe *probe, const char *why)
{
    char date[32];
    int64_t left = probe->ends - (int64_t)time(NULL);
    date_text(probe->ends, date);
    if (!probe->accepted)
        return check_item(false, "certificate", "%s; no delivery gets past it. It is %s, signed by %s, and %s %s", why,
                          probe->subject, probe->issuer, left > 0 ? "ends" : "ended", date);
    if (left < RENEW_DAYS * DAY)
        check_warning("certificate", "ends in %lld day%s, on %s: renew it (%s, signed by %s)", (long long)(left / DAY),
                      left / DAY == 1 ? "" : "s", date, probe->subject, probe->issuer);
    else
        check_item(true, "certificate", "of %s, signed by %s, is accepted until %s", probe->subject, probe->issuer,
                   date);
    return true;
}

/* What can be seen without a login. False: there is no use in one. */
static bool check_server(const struct config *config, struct mailbox_probe *probe)
{
    struct fault fault;
    if (config->imap.command[0] != '\0')
        return check_item(true, "certificate", "none: imap.command needs none");
    bool done = mailbox_probe(config, probe, &fault);
    if (config->imap.tls == IMAP_TLS_NONE && done)
        check_item(true, "certificate", "none: imap.tls = none, which goes no further than this host");
    if (probe->shown && !check_certificate(probe, fault.text))
        return false;
    return done || check_item(false, "imap", "%s", fault.text);
}

static void check_capabilities(const struct config *config, struct mailbox *mailbox, const struct mailbox_probe *probe)
{
    struct mailbox_abilities abilities;
    struct fault fault;
    if (!mailbox_abilities(mailbox, &abilities, &fault)) {
        check_item(false, "capabilities", "%s", fault.text);
        return;
    }
    if (!abilities.uidplus)
        check_warning("capabilities", "no UIDPLUS: the UIDs of what is delivered are not known");
    if (!abilities.special_use && strcasecmp(config->route.sent, "\\Sent") == 0)
        check_warning("capabilities",
                      "no SPECIAL-USE: which mailbox is for sent mail is not known; set route.sent to its name");
    if (abilities.append_limit > 0 &&
        (config->delivery.size_limit == 0 || abilities.append_limit < config->delivery.size_limit))
        check_warning("capabilities",
                      "APPENDLIMIT=%lld is below delivery.size_limit: larger messages bounce only once the"
                      " server refuses them; set size_limit to it",
                      (long long)abilities.append_limit);
    check_item(true, "capabilities", "before the login: %s; after it: %s",
               probe->abilities.told[0] != '\0' ? probe->abilities.told : "none that matters",
               abilities.told[0] != '\0' ? abilities.told : "none that matters");
}

static void check_folder(const struct config *config, struct mailbox *mailbox, const char *item, const char *name)
{
    struct mailbox_folder folder;
    struct fault fault;
    bool by_use = strcasecmp(name, "\\Sent") == 0;
    if (!mailbox_folder(mailbox, name, &folder, &fault)) {
        check_item(false, item, "%s: %s", name, fault.text);
        return;
    }
    if (by_use && !folder.is_sent)
        check_warning(item,
                      "no mailbox has the special use Sent: copies go to %s; give one that use, or set route.sent"
                      " to a name",
                      folder.name);
    if (folder.exists)
        check_item(true, item, "mailbox %s exists", folder.name);
    else if (strcasecmp(name, "INBOX") == 0)
        check_item(false, item,
                   "the account has no INBOX, and it is not ours to make one: does the account exist on the"
                   " server?");
    else if (config->imap.create)
        check_item(true, item, "mailbox %s does not exist yet: it is made when it is needed (imap.create)",
                   folder.name);
    else
        check_item(false, item, "mailbox %s does not exist, and imap.create = no: create it", folder.name);
}

/* Whether that account's mail goes to that account, see delivery/server.h; deliveries are told. */
static void check_identity(const struct check *check, const char *account)
{
    struct fault fault, minor;
    if (!mailbox_delegates(check->config))
        return;
    enum identity_result result = mailbox_identity(check->config, account, &fault);
    if (!check_item(result == IDENTITY_COUNTS, "identity", "%s",
                    result == IDENTITY_COUNTS
                        ? "the server opens the account that is named, and not that of who logs in"
                        : fault.text) &&
        result == IDENTITY_UNKNOWN)
        return;
    if (!check->fits)
        return;
    char *server OD_CLEANUP(base_free) = mailbox_server(check->config);
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(check->config, NULL, &minor);
    if (ledger == NULL || !ledger_server_record(ledger, server, result == IDENTITY_COUNTS, &minor))
        check_warning("identity", "that could not be recorded: %s", minor.text);
}

/* A login needs an account: the one given, or the one that imap.user names. */
static void step_imap(void *context)
{
    const struct check *check = context;
    const struct config *config = check->config;
    struct mailbox_probe probe = {.shown = false};
    struct fault fault;
    const char *account = check->account == NULL && config->imap.user[0] != '\0' ? config->imap.user : check->account;
    if (!check_server(config, &probe))
        return;
    if (account == NULL) {
        check_warning("imap", "no login was tried: name an account, as in: oncedrop check user@example.org");
        return;
    }
    struct mailbox *mailbox OD_CLEANUP(mailbox_close) = mailbox_open(config, account, &fault);
    if (mailbox == NULL) {
        check_item(false, "imap", "%s", fault.text);
        return;
    }
    check_item(true, "imap", "logged in as %s", account);
    check_identity(check, account);
    check_capabilities(config, mailbox, &probe);
    check_folder(config, mailbox, "inbox", config->route.inbox);
    if (config->route.sent_copy != SENT_COPY_OFF)
        check_folder(config, mailbox, "sent", config->route.sent);
}

static void step_postfix(void *context)
{
    const struct check *check = context;
    check_postfix(check->config, check->max_connections, check->postfix);
}

static void run_steps(struct check *check)
{
    check_step("database", DATABASE_MS, "it takes connections but does not answer", step_database, check);
    if (check->connected)
        check_step("lock", LOCK_MS, "the database does not answer any more", step_lock, check);
    if (check->fits)
        check_step("ledger", LEDGER_MS, "the database does not answer, or a table is locked (see pg_locks)",
                   step_ledger, check);
    check_step("imap", IMAP_MS, "each answer takes its time, and a delivery asks for more of them", step_imap, check);
    check_step("postfix", POSTFIX_MS, "postconf does not end", step_postfix, check);
}

int cmd_check(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct check *check = check_shared(sizeof(*check));
    bool json = false, colour = terminal_coloured(STDOUT_FILENO);
    if (!cmd_parse_json(argc, argv, &json) || argc - optind > 1)
        return cmd_usage("check");
    char *postfix OD_CLEANUP(base_free) = base_strdup(getenv("MAIL_CONFIG"));
    privilege_clear_environment(cmd_environment); /* as a delivery does: its libpq sees no PGHOST either */
    int status = cmd_open(options, &config, NULL);
    if (status != 0)
        return status;
    check_begin(json, colour);
    check_item(true, "configuration", "%s", options->config_file);
    check_times(config);
    if (config->imap.timeout > IMAP_ANSWER_MS)
        config->imap.timeout = IMAP_ANSWER_MS; /* after check_times: a delivery has more patience */
    *check = (struct check){.config = config, .account = optind < argc ? argv[optind] : NULL, .postfix = postfix};
    run_steps(check);
    return check_end();
}
