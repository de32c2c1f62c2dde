/* SPDX-License-Identifier: ISC
 *
 * check: Postfix's settings that keep mail from oncedrop, bounce it, or prevent Sent copies. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/check.h"

#define PRIVATE ":unix:private/"

/* A domain is in the first class that has it (trivial-rewrite(8)). */
static const char *const classes[] = {"mydestination", "virtual_alias_domains", "virtual_mailbox_domains",
                                      "relay_domains"};

struct setting {
    const struct config *config;
    const struct postconf *postconf;
    bool command; /* mailbox_command is ours */
    const char *domain;
    const char *class; /* of the domain; "": none; NULL: no address, or tables may route it */
    const char *name, *value;
};

static bool is_ours(const struct postconf_service *service)
{
    return strstr("pipe spawn lmtp", service->daemon) != NULL && strstr(service->line, "oncedrop") != NULL;
}

static const struct postconf_service *service_named(const struct postconf *postconf, const char *name)
{
    const struct postconf_service *service = postconf->services;
    while (service->line != NULL && strcmp(service->name, name) != 0)
        service++;
    return service->line != NULL ? service : NULL;
}

/* Returns true if a transport (NAME or NAME:NEXTHOP) is our service, or may be: a server outside of master.cf. */
static bool may_be_ours(const struct postconf *postconf, const char *transport)
{
    const char *socket = strstr(transport, PRIVATE);
    char *name OD_CLEANUP(base_free) = base_strndup(transport, strcspn(transport, ":"));
    const struct postconf_service *service = service_named(postconf, socket != NULL ? socket + strlen(PRIVATE) : name);
    return service != NULL && (is_ours(service) || (socket == NULL && strcmp(service->daemon, "lmtp") == 0));
}

/* Tests: each returns NULL, or a new string to precede the rule's text. */

/* Tests main.cf only: default transports may be unused. */
static char *is_undefined(const struct setting *setting)
{
    const char *socket = strstr(setting->value, PRIVATE), *server = socket != NULL ? socket + strlen(PRIVATE) : NULL;
    char *name OD_CLEANUP(base_free) = base_strndup(setting->value, strcspn(setting->value, ":"));
    if (name[0] == '\0' || !g_hash_table_contains(setting->postconf->own, setting->name))
        return NULL;
    const char *missing = service_named(setting->postconf, name) == NULL ? name : server;
    return missing != NULL && service_named(setting->postconf, missing) == NULL
               ? base_printf("master.cf has no service %s", missing)
               : NULL;
}

static char *is_in_earlier_class(const struct setting *setting)
{
    for (size_t i = 0; strcmp(classes[i], setting->name) != 0; i++) {
        const char *earlier = postconf_value(setting->postconf, NULL, classes[i]);
        char *domain OD_CLEANUP(base_free) = postconf_shared(setting->postconf, setting->value, earlier);
        if (domain == NULL)
            domain = postconf_shared(setting->postconf, earlier, setting->value);
        if (domain != NULL)
            return base_printf("%s is in %s, too", domain, classes[i]);
    }
    return NULL;
}

static char *takes_the_domain(const struct setting *setting)
{
    const struct postconf *postconf = setting->postconf;
    const char *other = postconf_value(postconf, NULL, "mailbox_transport");
    if (g_strcmp0(setting->class, setting->name) != 0)
        return NULL;
    bool local = strcmp(setting->name, "mydestination") == 0;
    const char *own = postconf_value(postconf, NULL, local ? "local_transport" : "virtual_transport");
    bool ours = may_be_ours(postconf, own);
    if (local && !ours)
        ours = other[0] != '\0' ? may_be_ours(postconf, other) : setting->command;
    return ours ? NULL : base_strdup(setting->domain);
}

static char *has_no_class(const struct setting *setting)
{
    return g_strcmp0(setting->class, "") == 0 ? base_strdup(setting->domain) : NULL;
}

static char *has_no_service(const struct setting *setting)
{
    struct stat found;
    char socket[108] = CONFIG_SERVICE_SOCKET; /* as in sockaddr_un */
    const char *option = strstr(setting->value, " -S");
    bool good = option == NULL || sscanf(option, " -S %107s", socket) == 1;
    good = good && stat(socket, &found) == 0 && S_ISSOCK(found.st_mode);
    return good ? NULL : base_printf("no service is on %s", socket);
}

/* For an ordinary user the service delivers only to the login name's account. */
static char *has_no_domain(const struct setting *setting)
{
    const char *account = setting->config->route.account;
    bool needed = strstr(account, "%{address}") != NULL || strstr(account, "%{domain}") != NULL;
    return needed && setting->config->route.account_query[0] == '\0' ? base_printf("route.account = %s", account)
                                                                     : NULL;
}

/* pipe(8) can pass the login; LMTP has it only in the Received field. */
static char *hides_the_login(const struct setting *setting)
{
    bool needed = false, reported = strcmp(setting->value, "yes") == 0;
    for (const struct postconf_service *service = setting->postconf->services; service->line != NULL; service++) {
        needed = needed || (is_ours(service) && strstr(service->line, "sasl_username") == NULL);
        reported = reported || strstr(service->line, "smtpd_sasl_authenticated_header=yes") != NULL;
    }
    bool wrong = needed && !reported && setting->config->route.sent_copy == SENT_COPY_AUTHENTICATED;
    return wrong ? base_strdup("the login that sent a message is unknown") : NULL;
}

static char *ends_a_delivery(const struct setting *setting)
{
    int64_t ms, deadline = setting->config->delivery.deadline;
    bool wrong = config_parse_duration(setting->value, &ms) && ms <= 2 * deadline + CONFIG_FRONT_MS;
    return wrong ? base_strdup("a delivery may take longer") : NULL;
}

static char *ends_before_a_retry(const struct setting *setting)
{
    int64_t ms, hold_off = setting->config->delivery.hold_off,
                sent_expire_after = setting->config->delivery.sent_expire_after;
    bool wrong = config_parse_duration(setting->value, &ms) &&
                 (ms <= hold_off || ms <= sent_expire_after || ms <= setting->config->delivery.refuse_after);
    return wrong ? base_strdup("not above delivery.hold_off, sent_expire_after and refuse_after") : NULL;
}

static char *outlives_the_record(const struct setting *setting)
{
    int64_t ms;
    bool wrong = config_parse_duration(setting->value, &ms) && ms >= setting->config->record.expire_after;
    return wrong ? base_strdup("not below record.expire_after") : NULL;
}

#define ANY ""                 /* any Postfix */
#define OURS "mailbox_command" /* one whose mailbox_command is ours */
#define SEE "; see oncedrop-postfix(7)"
#define KILLED ": Postfix bounces mail if it has to kill the process; set it above 2 * delivery.deadline + 270s"
#define ACCIDENT "mail bounces while the program cannot be loaded; set it to regexp:/etc/postfix/oncedrop_status"

static const struct rule {
    const char *of;                                /* ANY, OURS, or the daemon of a service of ours */
    const char *settings;                          /* separated by blanks; "_time_limit": NAME_time_limit */
    char *(*wrong)(const struct setting *setting); /* if NULL, the next two count */
    const char *key;          /* its value in the setting's tables; if NULL, the setting's value ... */
    const char *must;         /* ... must match this */
    enum check_status status; /* failed: no mail arrives */
    const char *text;
} rules[] = {
    /* clang-format off */
    {ANY, "virtual_alias_domains virtual_mailbox_domains", is_in_earlier_class, NULL, NULL, CHECK_FAILED,
     ": Postfix uses that, and mail for it is refused or delivered elsewhere; leave it in one of them" SEE},
    {ANY, "local_transport virtual_transport relay_transport default_transport mailbox_transport fallback_transport",
     is_undefined, NULL, NULL, CHECK_FAILED, ": mail is deferred; add the service" SEE},
    {ANY, "mydestination", takes_the_domain, NULL, NULL, CHECK_FAILED,
     " is in it, from where no mail comes to oncedrop: move it to virtual_mailbox_domains, or set mailbox_command" SEE},
    {ANY, "virtual_mailbox_domains", takes_the_domain, NULL, NULL, CHECK_FAILED,
     " is in it, but virtual_transport does not lead to oncedrop: no mail for it comes here" SEE},
    {ANY, "virtual_mailbox_domains", has_no_class, NULL, NULL, CHECK_FAILED,
     " is not a domain of this Postfix, which sends its mail elsewhere: add it" SEE},
    {ANY, "smtpd_sasl_authenticated_header", hides_the_login, NULL, NULL, CHECK_WARNING,
     ", so no Sent copy is made; set it to yes, or set route.sent_copy = off"},
    {ANY, "maximal_queue_lifetime", ends_before_a_retry, NULL, NULL, CHECK_WARNING,
     ": Postfix bounces what should be retried again"},
    {ANY, "maximal_queue_lifetime", outlives_the_record, NULL, NULL, CHECK_WARNING,
     ": a message that is still in the queue, but was on hold for that long, would be expired"},
    {OURS, "mailbox_transport", NULL, NULL, "^$", CHECK_WARNING,
     "it overrides mailbox_command, which is never run; unset one of them"},
    {OURS, "alias_maps", NULL, "root", ".", CHECK_WARNING, /* local(8) runs it as nobody, without account */
     "no entry for root, whose mail is deferred; add a line such as root: lisa to /etc/aliases and run newaliases"},
    {OURS, "mailbox_command", NULL, NULL, "^[\\w!@%=+:,./ \t-]*$", CHECK_WARNING, /* what runs without a shell */
     "Postfix starts a shell for it: a missing program is then status 127, which bounces; use only letters, digits and"
     " !@%-_=+:,./"},
    {OURS, "mailbox_command", has_no_service, NULL, NULL, CHECK_WARNING, /* it runs as the recipient, who needs it */
     ": mail for local users is deferred; start oncedrop serve, or give deliver the option -S with service.socket" SEE},
    {OURS, "mailbox_command", has_no_domain, NULL, NULL, CHECK_WARNING,
     " needs a domain, but the login name of the recipient, as whom it runs, has none: every such delivery is deferred;"
     " use %{user} or account_query"},
    {OURS, "command_time_limit", ends_a_delivery, NULL, NULL, CHECK_WARNING, KILLED},
    {OURS, "local_delivery_status_filter", NULL, "5.3.0 Command died", "^4", CHECK_WARNING, ACCIDENT},
    {"pipe", "pipe_delivery_status_filter", NULL, "5.3.0 Command died", "^4", CHECK_WARNING, ACCIDENT},
    {"pipe", "_time_limit", ends_a_delivery, NULL, NULL, CHECK_WARNING, KILLED},
    {"pipe", "_destination_recipient_limit", NULL, NULL, "^1$", CHECK_WARNING,
     "one process delivers to one recipient; set it to 1"},
    /* clang-format on */
};

static char *find_wrong(const struct rule *rule, const struct setting *setting)
{
    if (rule->wrong != NULL)
        return rule->wrong(setting);
    char *found OD_CLEANUP(base_free) = rule->key != NULL ? postconf_find(setting->postconf, setting->value, rule->key)
                                                          : base_strdup(setting->value);
    return found != NULL && g_regex_match_simple(rule->must, found, 0, 0) ? NULL : base_strdup("");
}

static void apply_rule(const struct rule *rule, struct setting setting, const struct postconf_service *service)
{
    g_auto(GStrv) names = g_strsplit(rule->settings, " ", -1);
    for (char **name = names; *name != NULL; name++) {
        char *complete OD_CLEANUP(base_free) = base_printf("%s%s", **name == '_' ? service->name : "", *name);
        setting.name = complete;
        setting.value = postconf_value(setting.postconf, service, complete);
        char *wrong OD_CLEANUP(base_free) = find_wrong(rule, &setting);
        const char *is = setting.value[0] != '\0' ? " = " : " is not set",
                   *more = strlen(setting.value) > 200 ? " ..." : "";
        if (wrong != NULL)
            check_item(rule->status, "postfix", "%s%s%.200s%s: %s%s", complete, is, setting.value, more, wrong,
                       rule->text);
    }
}

static const char *domain_class(const struct postconf *postconf, const char *domain)
{
    const char *of_tables[] = {"transport_maps", "mailbox_transport_maps", "mailbox_command_maps"};
    for (size_t i = 0; i < G_N_ELEMENTS(of_tables); i++)
        if (postconf_value(postconf, NULL, of_tables[i])[0] != '\0')
            return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++) {
        char *found OD_CLEANUP(base_free) = postconf_find(postconf, postconf_value(postconf, NULL, classes[i]), domain);
        if (found != NULL)
            return classes[i];
    }
    return "";
}

void check_postfix(struct check *check)
{
    struct postconf *postconf OD_CLEANUP(postconf_free) = postconf_read(check->postfix);
    const char *at = check->address != NULL ? strrchr(check->address, '@') : NULL;
    const char *domain = at != NULL ? at + 1 : NULL;
    if (postconf == NULL)
        return;
    struct setting setting = {.config = check->cmd->config, .postconf = postconf, .domain = domain};
    setting.command = strstr(postconf_value(postconf, NULL, "mailbox_command"), "oncedrop") != NULL;
    bool leads = setting.command;
    for (const struct postconf_service *service = postconf->services; service->line != NULL; service++)
        leads = leads || is_ours(service);
    setting.class = domain != NULL && leads ? domain_class(postconf, domain) : NULL;
    for (const struct rule *rule = rules; rule < rules + G_N_ELEMENTS(rules); rule++) {
        if (strcmp(rule->of, ANY) == 0 || (strcmp(rule->of, OURS) == 0 && setting.command))
            apply_rule(rule, setting, NULL);
        for (const struct postconf_service *service = postconf->services; service->line != NULL; service++)
            if (is_ours(service) && strcmp(service->daemon, rule->of) == 0)
                apply_rule(rule, setting, service);
    }
    check_item(true, "postfix", "settings read%s", leads ? "" : "; none of them leads to oncedrop yet");
}
