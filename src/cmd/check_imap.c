/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cmd/check.h"
#include "delivery/login_backoff.h"
#include "ledger/ledger.h"
#include "mailbox/mailbox.h"

#define REPLY_MS 8000        /* a delivery waits longer */
#define TOKEN_CACHE_MS 12000 /* of all other servers */
#define PENALTY_MS 30000     /* for a delayed login */
#define SLOWER_MS 1000
#define DAY INT64_C(86400)
#define RENEW_DAYS 14
#define PROBE "oncedrop-probe" /* a mailbox of no account */

/* Returns true if a delivery would accept it. why: the reason if not. */
static bool check_certificate(const struct mailbox_probe *probe, const char *why)
{
    int64_t left = probe->certificate.ends - (int64_t)time(NULL);
    g_autoptr(GDateTime) end = g_date_time_new_from_unix_utc(probe->certificate.ends);
    g_autofree char *date = end != NULL ? g_date_time_format(end, "%Y-%m-%d %H:%M UTC") : g_strdup("an unknown date");
    if (!probe->certificate.accepted)
        return check_item(false, "certificate", "%s; no delivery can connect. It is %s, signed by %s, and %s %s", why,
                          probe->certificate.subject, probe->certificate.issuer, left > 0 ? "ends" : "ended", date);
    if (left < RENEW_DAYS * DAY)
        check_item(CHECK_WARNING, "certificate", "ends in %lld day%s, on %s: renew it (%s, signed by %s)",
                   (long long)(left / DAY), left / DAY == 1 ? "" : "s", date, probe->certificate.subject,
                   probe->certificate.issuer);
    else
        check_item(true, "certificate", "of %s, signed by %s, is accepted until %s", probe->certificate.subject,
                   probe->certificate.issuer, date);
    return true;
}

/* Tests without a login. Returns false if a login cannot succeed. */
static bool check_server(const struct config *config, struct mailbox_probe *probe)
{
    struct error error;
    if (config->imap.command[0] != '\0')
        return check_item(true, "certificate", "none: imap.command needs none");
    bool done = mailbox_probe(config, probe, &error);
    if (config->imap.tls == IMAP_TLS_NONE && done)
        check_item(true, "certificate", "none: imap.tls = none, which is only for this host");
    if (probe->certificate.shown && !check_certificate(probe, error.text))
        return false;
    return done || check_item(false, "imap", "%s", error.text);
}

static void greet(const struct config *config, int64_t ms)
{
    struct config limited = *config;
    struct mailbox_probe probe = {.certificate.shown = false};
    const char *name = config->name;
    limited.imap.timeout = MIN(limited.imap.timeout, ms);
    if (limited.imap.command[0] != '\0')
        check_item(true, "imap", "not tried: imap.command starts a server for each session");
    else if (check_server(&limited, &probe))
        check_item(true, "imap", "the server %s%sanswers", name, *name != '\0' ? " " : "");
}

void check_greeting(struct check *check, int64_t ms)
{
    const struct config *config = check->cmd->config;
    size_t count = config_server_count(config);
    greet(config, ms / (int64_t)(count + 1));
    for (size_t i = 0; i < count; i++)
        greet(config->servers[i], ms / (int64_t)(count + 1));
}

static void check_capabilities(const struct config *config, struct mailbox *mailbox, const struct mailbox_probe *probe)
{
    struct mailbox_capabilities capabilities;
    struct error error;
    if (!mailbox_capabilities(mailbox, &capabilities, &error)) {
        check_item(false, "capabilities", "%s", error.text);
        return;
    }
    if (!capabilities.uidplus)
        check_item(CHECK_WARNING, "capabilities", "no UIDPLUS: the UIDs of delivered messages are unknown");
    if (!capabilities.special_use && strcasecmp(config->route.sent, "\\Sent") == 0)
        check_item(
            CHECK_WARNING, "capabilities",
            "no SPECIAL-USE: copies of sent mail go to \"Sent\", unless LIST marks another mailbox as \\Sent; set"
            " route.sent to the right name");
    if (capabilities.append_limit > 0 &&
        (config->delivery.size_limit == 0 || capabilities.append_limit < config->delivery.size_limit))
        check_item(CHECK_WARNING, "capabilities",
                   "APPENDLIMIT=%lld is below delivery.size_limit: larger messages bounce only once the"
                   " server refuses them; set size_limit to it",
                   (long long)capabilities.append_limit);
    check_item(true, "capabilities", "before the login: %s; after it: %s",
               probe->capabilities.reported[0] != '\0' ? probe->capabilities.reported : "none that matter",
               capabilities.reported[0] != '\0' ? capabilities.reported : "none that matter");
}

/* APPEND needs the right i, a search r, the flag \\Seen s (RFC 4314, 4). Reports no more than the server says. */
static void check_present(const struct mailbox_rights *rights, const char *item, const char *name)
{
    const char *granted = rights->granted;
    if (rights->known && (strchr(granted, 'i') == NULL || strchr(granted, 'r') == NULL)) {
        check_item(false, item, "the login has the rights \"%s\" in mailbox %s: it needs i (insert) and r (read)",
                   granted, name);
        return;
    }
    if (rights->known && strcmp(item, "sent") == 0 && strchr(granted, 's') == NULL)
        check_item(CHECK_WARNING, item,
                   "the login does not have the right s in mailbox %s: copies there will be unread", name);
    check_item(true, item, "mailbox %s exists%s", name, rights->known ? ", and the login may use it" : "");
}

/* Tests by creating PROBE. */
static bool try_creation(struct mailbox *mailbox, const char *item, struct error *error)
{
    bool left;
    bool can = mailbox_try_create(mailbox, PROBE, &left, error);
    if (can && left)
        check_item(CHECK_WARNING, item, "the mailbox %s, made to try whether that is possible, could not be deleted",
                   PROBE);
    return can;
}

static void check_missing(const struct config *config, struct mailbox *mailbox, const char *item, const char *name)
{
    struct error error;
    bool shared = config_is_shared(config);
    if (shared && strcmp(item, "inbox") == 0)
        check_item(false, item,
                   "mailbox %s does not exist, or imap.user has no rights there; oncedrop never creates an inbox",
                   name);
    else if (!config->imap.create)
        check_item(false, item, "mailbox %s does not exist, and imap.create = no: create it", name);
    else if (shared)
        check_item(true, item,
                   "mailbox %s does not exist yet, or imap.user has no rights there: it is created when needed"
                   " (imap.create)",
                   name);
    else if (try_creation(mailbox, item, &error))
        check_item(true, item,
                   "mailbox %s does not exist yet: it is created when needed (tried with %s, which is deleted again)",
                   name, PROBE);
    else
        check_item(false, item, "mailbox %s does not exist, and cannot be created: %s", name, error.text);
}

/* Where one login opens all accounts, the name is not looked up. */
static void check_mailbox(const struct config *config, struct mailbox *mailbox, const char *item, const char *name)
{
    struct mailbox_folder folder;
    struct mailbox_rights rights;
    struct error error;
    bool shared = config_is_shared(config), by_use = !shared && strcasecmp(name, "\\Sent") == 0;
    if (!shared && !mailbox_folder(mailbox, name, &folder, &error)) {
        check_item(false, item, "%s: %s", name, error.text);
        return;
    }
    if (by_use && !folder.is_sent)
        check_item(CHECK_WARNING, item,
                   "no mailbox has the special use Sent: copies go to %s; give a mailbox that use, or set route.sent"
                   " to a name",
                   folder.name);
    const char *found = shared ? name : folder.name;
    if (!mailbox_rights(mailbox, name, &rights, &error))
        check_item(false, item, "%s: %s", found, error.text);
    else if (rights.exists)
        check_present(&rights, item, found);
    else
        check_missing(config, mailbox, item, found);
}

/* Tests folders for address details. */
static void check_details(const struct config *config, struct mailbox *mailbox)
{
    struct error error;
    if (!config->imap.create)
        check_item(true, "detail", "mail to a folder that does not exist goes to the inbox, since imap.create = no");
    else if (try_creation(mailbox, "detail", &error))
        check_item(true, "detail", "a folder can be created: one was, and was deleted");
    else
        check_item(CHECK_WARNING, "detail", "no folder can be created, so mail for it goes to the inbox: %s",
                   error.text);
}

/* Tests, and records, if the server opens the account that a login names (delivery/server.c). */
static void check_identity(const struct config *config, const char *account, bool fits)
{
    struct error error, minor;
    if (!mailbox_delegates(config))
        return;
    enum identity_result result = mailbox_identity(config, account, &error);
    if (!check_item(result == IDENTITY_COUNTS, "identity", "%s",
                    result == IDENTITY_COUNTS
                        ? "the server opens the account named in the login, not that of the master user"
                        : error.text) &&
        result == IDENTITY_UNKNOWN)
        return;
    if (!fits)
        return;
    char *server OD_CLEANUP(base_free) = mailbox_server(config);
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(config, NULL, &minor);
    if (ledger == NULL || !ledger_server_record(ledger, server, result == IDENTITY_COUNTS, &minor))
        check_item(CHECK_WARNING, "identity", "the result could not be recorded: %s", minor.text);
}

static void check_penalty(const struct config *config, const char *account, int64_t usual_ms)
{
    struct config patient = *config;
    int64_t ms;
    patient.imap.timeout = MAX(config->imap.timeout, PENALTY_MS);
    if (!mailbox_delegates(config) || !mailbox_refusal_delay(&patient, account, usual_ms, &ms))
        return;
    if (ms < SLOWER_MS)
        check_item(true, "refusals", "a refused login does not delay the next one");
    else
        check_item(
            CHECK_WARNING, "refusals",
            "after one refused login, a good one takes %lld.%lld s longer, and more after each: mail for accounts"
            " that the server refuses delays all other mail. Dovecot: nodelay=y in the line of master-users, or"
            " service anvil { unix_listener anvil-auth-penalty { mode = 0 } }, see oncedrop-imap(7)",
            (long long)ms / 1000, (long long)ms % 1000 / 100);
}

/* Records the login's success, so that deliveries retry at once. */
static void forget_refusal(const struct config *config, const struct check *check)
{
    struct error minor;
    if (!check->fits || config_is_shared(config))
        return;
    char *id OD_CLEANUP(base_free) = login_backoff_id(config, check->account);
    struct ledger *ledger OD_CLEANUP(ledger_close) = ledger_open(config, NULL, &minor);
    if (ledger == NULL || !ledger_refusal_forget(ledger, id, &minor))
        check_item(CHECK_WARNING, "imap", "could not record that the login succeeded: %s", minor.text);
}

const struct config *check_server_of(const struct check *check)
{
    const struct config *server = config_server(check->cmd->config, check->server);
    return server != NULL ? server : check->cmd->config;
}

void check_imap(struct check *check)
{
    struct config limited = *check_server_of(check), *config = &limited;
    struct mailbox_probe probe = {.certificate.shown = false};
    struct error error;
    config->imap.timeout = MIN(config->imap.timeout, REPLY_MS);
    if (!check_server(config, &probe))
        return;
    if (!check->routed) {
        check_item(CHECK_WARNING, "imap", "no login was tried: %s",
                   check->address != NULL
                       ? "it is not known which account the address leads to"
                       : "name an address that has an account, as in: oncedrop check user@example.org");
        return;
    }
    int64_t started = base_now_ms();
    struct mailbox *mailbox OD_CLEANUP(mailbox_close) = mailbox_open(config, check->account, 0, &error);
    int64_t login_ms = base_now_ms() - started;
    if (mailbox == NULL) {
        check_item(false, "imap", "%s", error.text);
        return;
    }
    check_item(true, "imap", "logged in as %s", config->imap.user[0] != '\0' ? config->imap.user : check->account);
    forget_refusal(config, check);
    check_identity(config, check->account, check->fits);
    check_penalty(config, check->account, login_ms);
    check_capabilities(config, mailbox, &probe);
    check_mailbox(config, mailbox, "inbox", check->inbox);
    if (config->route.sent_copy != SENT_COPY_OFF && check->sent[0] != '\0')
        check_mailbox(config, mailbox, "sent", check->sent);
    if (!config_is_shared(config) && config->route.detail == DETAIL_FOLDER)
        check_details(config, mailbox);
}

void check_servers(struct check *check)
{
    const struct config *config = check->cmd->config;
    size_t count = config_server_count(config);
    for (size_t i = 0; i <= count && count > 0; i++) {
        const struct config *server = i == 0 ? config : config->servers[i - 1];
        struct config limited = *server;
        struct mailbox_probe probe = {.certificate.shown = false};
        struct error error;
        if (server == check_server_of(check) || *server->imap.command != '\0')
            continue; /* done by check_imap */
        limited.imap.timeout = MIN(limited.imap.timeout, TOKEN_CACHE_MS / (int64_t)count);
        bool good = mailbox_probe(&limited, &probe, &error);
        check_item(good, "servers", "%s %s", i == 0 ? "[imap]" : server->name, good ? "answers" : error.text);
    }
}
