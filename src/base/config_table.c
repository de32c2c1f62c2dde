/* SPDX-License-Identifier: ISC */
#include "base/config_internal.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define ROW(g, n, kind, preset, ...) \
    {#g, #n, SETTING_##kind, offsetof(struct config, g.n), .text = (preset), __VA_ARGS__}
/* clang-format on */
#define STRING(g, n, preset, flag, words) ROW(g, n, STRING, preset, .flags = (flag), .help = (words))
/* the choices, in the order of the enum in config.h */
#define CHOICE(g, n, preset, words, ...) \
    ROW(g, n, CHOICE, preset, .help = (words), .choices = (const char *const[]){__VA_ARGS__, NULL})
#define RANGE(g, n, kind, preset, from, to, words) ROW(g, n, kind, preset, .min = (from), .max = (to), .help = (words))
#define YES_NO(g, n, preset, words) ROW(g, n, YES_NO, preset, .help = (words))

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define DAY (24 * 60 * MINUTE)
#define MIB INT64_C(1048576)

/* Limits: Postfix would bounce instead of defer with a deadline near command_time_limit (1000 s), or sent_expire_after or
 * refuse_after near maximal_queue_lifetime (5 days). A size_limit of a few bytes probably lacks its unit, and would
 * bounce all mail. */
const struct setting config_table[] = {
    STRING(database, conninfo, CONFIG_SQLITE "/var/lib/oncedrop/ledger.db",
           SETTING_REQUIRED | SETTING_HASH | SETTING_SECRET, "where the ledger is"),
    ROW(database, tls, CHOICE, "verify", .flags = SETTING_POSTGRES | SETTING_MARIADB,
        .help = "what a connection to another machine must prove",
        .choices = (const char *const[]){"verify", "conninfo", NULL}),
    ROW(database, durability, CHOICE, "verify", .flags = SETTING_MARIADB,
        .help = "whether the server must have every commit on the disk",
        .choices = (const char *const[]){"verify", "server", NULL}),
    STRING(database, schema, "oncedrop", SETTING_REQUIRED | SETTING_WORD | SETTING_POSTGRES,
           "the schema that contains all tables"),

    CHOICE(lock, method, "session", "how deliveries of one message exclude each other", "advisory", "row", "lease",
           "session"),
    RANGE(lock, wait, DURATION, "0s", 0, 15 * MINUTE, "how long to wait for a lock that is held"),
    STRING(lock, namespace, "oncedrop", SETTING_REQUIRED, "a name that separates the lock keys of several systems"),

    STRING(imap, host, "localhost", SETTING_WORD, "the IMAP server"),
    RANGE(imap, port, NUMBER, "0", 0, 65535, "the IMAP server's TCP port"),
    CHOICE(imap, tls, "imaps", "how the connection is secured", "imaps", "starttls", "none"),
    STRING(imap, ca_file, "", 0, "the trusted certificate authorities"),
    STRING(imap, server_name, "", SETTING_WORD, "the name expected in the server's certificate"),
    STRING(imap, command, "", SETTING_HASH, "the command to run as IMAP server"),
    CHOICE(imap, auth, "plain", "how to log in", "plain", "login", "xoauth2", "oauthbearer"),
    STRING(imap, user, "", 0, "the login name"),
    STRING(imap, master_user, "", 0, "the user whose password opens every account"),
    STRING(imap, password_file, "", 0, "the file whose first line is the password"),
    STRING(imap, password_command, "", SETTING_HASH, "the command that prints the password"),
    RANGE(imap, timeout, DURATION, "30s", 100, 15 * MINUTE, "how long to wait for each answer of the IMAP server"),
    RANGE(imap, sessions, NUMBER, "100", 1, 10000, "how many IMAP sessions a process keeps"),
    YES_NO(imap, early_login, "no", "whether to log in before the greeting"),
    RANGE(imap, idle_timeout, DURATION, "30s", 0, 15 * MINUTE, "how long an unused IMAP session is kept"),
    CHOICE(imap, search, "doubt", "when to search for a message before it is appended", "doubt", "always"),
    CHOICE(imap, match, "content", "how a message in a mailbox is recognised", "content", "message-id"),
    YES_NO(imap, create, "yes", "whether to create missing mailboxes"),
    YES_NO(imap, subscribe, "yes", "whether to subscribe to created mailboxes"),

    STRING(route, account, "%{address}", SETTING_REQUIRED, "the account an address leads to"),
    STRING(route, account_query, "", SETTING_HASH, "the query for the account an address leads to"),
    STRING(route, server, "", SETTING_WORD, "the IMAP server that has an account"),
    STRING(route, account_file, "", 0, "the file of yours that account_query reads"),
    STRING(route, inbox, "INBOX", SETTING_REQUIRED, "the mailbox for incoming mail"),
    STRING(route, sent, "Sent", SETTING_REQUIRED, "the mailbox for copies of sent mail"),
    CHOICE(route, sent_copy, "authenticated", "which senders get a copy of their mail", "authenticated", "from", "off"),
    CHOICE(route, detail, "off", "what an address extension means", "off", "folder"),
    CHOICE(route, unknown_account, "bounce", "what to do with mail for unknown accounts", "bounce", "defer"),

    RANGE(delivery, deadline, DURATION, "120s", 100, 15 * MINUTE, "how long one delivery may take"),
    RANGE(delivery, hold_off, DURATION, "320s", 100, DAY, "how long others wait after a delivery that broke off"),
    ROW(delivery, size_limit, SIZE, "100M", .min = 1024, .max = 4095 * MIB, .flags = SETTING_OR_ZERO,
        .help = "the largest message"),
    ROW(delivery, memory, SIZE, "256M", .min = 64 * MIB, .max = 65536 * MIB, .flags = SETTING_OR_ZERO,
        .help = "how much memory a delivery may use"),
    CHOICE(delivery, overquota, "defer", "what to do with mail for a full mailbox", "defer", "bounce"),
    RANGE(delivery, sent_expire_after, DURATION, "1h", 0, 4 * DAY, "how long to retry a failing Sent copy"),
    CHOICE(delivery, refused, "bounce", "what to do with mail that the IMAP server refuses", "bounce", "quarantine"),
    RANGE(delivery, refuse_after, DURATION, "1h", 0, 4 * DAY, "how long to retry refused mail"),

    ROW(identity, ignore_headers, FIELDS, "", .help = "header fields that do not count as content"),

    CHOICE(record, level, "text", "how much of each message to record", "envelope", "headers", "text", "raw"),
    STRING(record, notify, "", SETTING_POSTGRES, "the channel to notify of new mail"),
    RANGE(record, expire_after, DURATION, "10d", 7 * DAY, 3650 * DAY,
          "how long after its last attempt an unfinished message expires"),
    YES_NO(record, trace, "no", "whether to record each try as a span of a trace"),

    STRING(feed, recipient, "", 0, "the recipients whose mail the feed takes"),
    STRING(feed, account, "", 0, "the accounts from whose mailboxes the feed takes mail"),
    STRING(feed, mailbox, "", 0, "the mailboxes from which the feed takes mail"),
    CHOICE(feed, role, "inbox", "whether the feed takes mail for recipients, or copies for senders", "inbox", "sent",
           "both"),

    STRING(service, user, "oncedrop", SETTING_WORD, "the user that deliveries run as"),
    RANGE(service, workers, NUMBER, "4", 1, 300, "how many connections the service serves at a time"),
    STRING(service, socket, CONFIG_SERVICE_SOCKET, SETTING_REQUIRED | SETTING_WORD, "where the service listens"),
    STRING(service, trusted_users, "postfix", 0, "the users who may deliver to everybody through the service"),
    STRING(service, allowed_networks, "", 0, "the networks from which the service takes connections"),

    CHOICE(log, to, "syslog", "where the log goes", "syslog", "stderr"),
    CHOICE(log, format, "text", "the form of what goes to stderr", "text", "json"),
    CHOICE(log, level, "info", "how much to log", "error", "warning", "info", "debug"),
    STRING(log, debug_accounts, "", 0, "the accounts whose deliveries are logged in full"),
    STRING(log, unrecorded_file, "/var/lib/oncedrop/unrecorded", 0, "the file that counts what no ledger could record"),
    {.group = NULL},
};

const size_t config_table_size = sizeof(config_table) / sizeof(*config_table) - 1;

const struct setting *config_table_find(const char *group, const char *name)
{
    for (const struct setting *setting = config_table; setting->group != NULL; setting++)
        if (strcmp(setting->group, group) == 0 && (name == NULL || strcmp(setting->name, name) == 0))
            return setting;
    return NULL;
}

static size_t list_length(struct config *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    return count;
}

static const struct config *find_in_list(struct config *const *list, const char *name)
{
    for (size_t i = 0; i < list_length(list); i++)
        if (strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

size_t config_server_count(const struct config *config)
{
    return list_length(config->servers);
}

size_t config_feed_count(const struct config *config)
{
    return list_length(config->feeds);
}

const struct config *config_server(const struct config *config, const char *name)
{
    return *name == '\0' ? config : find_in_list(config->servers, name);
}

const struct config *config_feed(const struct config *config, const char *name)
{
    return find_in_list(config->feeds, name);
}

bool config_is_shared(const struct config *config)
{
    return *config->imap.user && !*config->imap.command && strstr(config->route.inbox, "%{") != NULL;
}

struct config *config_defaults(void)
{
    struct config *config = base_alloc(sizeof(*config));
    struct error error;
    for (const struct setting *setting = config_table; setting->group != NULL; setting++)
        if (!config_value_set(config, setting, setting->text, &error))
            abort();
    config->imap.password = base_alloc(sizeof(*config->imap.password));
    config->imap.password->text = base_strdup("");
    config->name = base_strdup("");
    return config;
}

static void free_one(struct config **config)
{
    for (const struct setting *setting = config_table; setting->group != NULL; setting++)
        config_value_free(*config, setting);
    base_free_secret(&(*config)->imap.password->text);
    base_free(&(*config)->imap.password);
    base_free(&(*config)->servers);
    base_free(&(*config)->feeds);
    base_free(&(*config)->name);
    base_free(config);
}

void config_free(struct config **config)
{
    if (*config == NULL)
        return;
    for (struct config **server = (*config)->servers; server != NULL && *server != NULL; server++)
        free_one(server);
    for (struct config **feed = (*config)->feeds; feed != NULL && *feed != NULL; feed++)
        free_one(feed);
    free_one(config);
}
