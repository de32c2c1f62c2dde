/* SPDX-License-Identifier: ISC
 *
 * The way of a message to us: its domain has one class, its transport is there, and nothing on it bounces mail or hides
 * who sent it. */
#include <glib.h>
#include <string.h>

#include "cmd/check_postfix.h"
#include "cmd/check_report.h"

/* Which of two counts is the first (trivial-rewrite(8)). */
static const char *const classes[] = {"mydestination", "virtual_alias_domains", "virtual_mailbox_domains"};

static const char *const transports[] = {"local_transport",   "virtual_transport", "relay_transport",
                                         "default_transport", "mailbox_transport", "fallback_transport"};

/* Tables that may name any transport, for some addresses. */
static const char *const transport_tables[] = {"transport_maps", "mailbox_transport_maps", "fallback_transport_maps",
                                               "sender_dependent_default_transport_maps"};

bool check_postfix_ours(const struct postconf_service *service)
{
    bool agent = strcmp(service->daemon, "pipe") == 0 || strcmp(service->daemon, "spawn") == 0 ||
                 strcmp(service->daemon, "lmtp") == 0;
    return agent && (strstr(service->name, "oncedrop") != NULL || strstr(service->arguments, "oncedrop") != NULL);
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Domains: a list has names, and tables that are asked for a name. */

static bool is_table(const char *word)
{
    return strchr(word, ':') != NULL;
}

static bool names(char **list, const char *domain)
{
    for (char **word = list; *word != NULL; word++)
        if (!is_table(*word) && g_ascii_strcasecmp(*word, domain) == 0)
            return true;
    return false;
}

static bool has_in_table(char **list, const char *domain)
{
    for (char **word = list; *word != NULL; word++) {
        char *found OD_CLEANUP(base_free) = is_table(*word) ? postconf_lookup(*word, domain) : NULL;
        if (found != NULL)
            return true;
    }
    return false;
}

static void say_overlap(const char *domain, const char *first, const char *second)
{
    check_item(false, "postfix",
               "%s is in %s and in %s: only the first counts, and its mail is refused or does not come here; take it"
               " out of %s",
               domain, first, second, first);
}

static void check_two_classes(const char *first, const char *second)
{
    char *one OD_CLEANUP(base_free) = postconf_value(first), *two OD_CLEANUP(base_free) = postconf_value(second);
    char **ones = postconf_words(one != NULL ? one : ""), **twos = postconf_words(two != NULL ? two : "");
    for (char **word = ones; *word != NULL; word++)
        if (!is_table(*word) && (names(twos, *word) || has_in_table(twos, *word)))
            say_overlap(*word, first, second);
    for (char **word = twos; *word != NULL; word++)
        if (!is_table(*word) && has_in_table(ones, *word))
            say_overlap(*word, first, second);
    g_strfreev(ones);
    g_strfreev(twos);
}

static void check_classes(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++)
        for (size_t j = i + 1; j < G_N_ELEMENTS(classes); j++)
            check_two_classes(classes[i], classes[j]);
}

/* Transports */

struct transports_seen {
    const struct postconf_services *services;
    bool *used;   /* a flag for each service */
    bool unknown; /* a table may name more */
};

/* Whether the value is TRANSPORT or TRANSPORT:NEXTHOP of this service, or leads to its socket. */
static bool leads_to(const char *value, const struct postconf_service *service)
{
    size_t length = strlen(service->name);
    char *socket OD_CLEANUP(base_free) = base_printf("private/%s", service->name);
    return (strncmp(value, service->name, length) == 0 && (value[length] == '\0' || value[length] == ':')) ||
           g_str_has_suffix(value, socket);
}

static bool is_defined(const struct postconf_services *services, const char *name)
{
    for (size_t i = 0; i < services->count; i++)
        if (strcmp(services->all[i].name, name) == 0)
            return true;
    return false;
}

static void check_defined(const struct postconf_services *services, const char *setting, const char *value)
{
    char *name OD_CLEANUP(base_free) = base_strndup(value, strcspn(value, ":"));
    const char *socket = strstr(value, ":unix:private/");
    const char *server = socket != NULL ? socket + strlen(":unix:private/") : NULL;
    const char *missing = !is_defined(services, name) ? name : server;
    if (missing != NULL && !is_defined(services, missing))
        check_item(false, "postfix",
                   "%s = %s, but master.cf has no service %s: its mail is deferred; add it, as oncedrop-postfix(7)"
                   " shows",
                   setting, value, missing);
}

static void see_setting(const char *name, const char *value, void *context)
{
    struct transports_seen *seen = context;
    if (value[0] == '\0')
        return;
    if (is_one_of(name, transports, G_N_ELEMENTS(transports)))
        check_defined(seen->services, name, value);
    if (is_one_of(name, transport_tables, G_N_ELEMENTS(transport_tables)))
        seen->unknown = true;
    for (size_t i = 0; i < seen->services->count; i++)
        if (leads_to(value, &seen->services->all[i]))
            seen->used[i] = true;
}

/* Another service may name it, as -o virtual_transport=NAME. */
static bool is_named_by_another(const struct postconf_services *services, const struct postconf_service *service)
{
    char *value OD_CLEANUP(base_free) = base_printf("=%s", service->name);
    char *socket OD_CLEANUP(base_free) = base_printf("private/%s", service->name);
    for (size_t i = 0; i < services->count; i++)
        if (&services->all[i] != service &&
            (strstr(services->all[i].arguments, value) != NULL || strstr(services->all[i].arguments, socket) != NULL))
            return true;
    return false;
}

static void check_transports(const struct postconf_services *services)
{
    bool *used OD_CLEANUP(base_free) = base_alloc((services->count + 1) * sizeof(*used));
    struct transports_seen seen = {.services = services, .used = used};
    postconf_each(see_setting, &seen);
    for (size_t i = 0; i < services->count; i++) {
        const struct postconf_service *service = &services->all[i];
        if (check_postfix_ours(service) && strcmp(service->type, "unix") == 0 && !used[i] && !seen.unknown &&
            !is_named_by_another(services, service))
            check_warning("postfix",
                          "nothing leads to the service %s of master.cf: set virtual_transport or mailbox_transport, or"
                          " remove it",
                          service->name);
    }
}

/* What happens on the way */

static bool defers_accidents(const char *tables)
{
    bool defers = false;
    char **words = postconf_words(tables != NULL ? tables : "");
    for (char **word = words; *word != NULL && !defers; word++) {
        char *found OD_CLEANUP(base_free) = postconf_lookup(*word, "5.3.0 Command died");
        defers = found != NULL && found[0] == '4';
    }
    g_strfreev(words);
    return defers;
}

static void check_filter(const char *name, const char *tables)
{
    bool set = tables != NULL && tables[0] != '\0';
    if (!defers_accidents(tables))
        check_warning("postfix",
                      "%s %s%s%s: when the program cannot be loaded, as in an upgrade, mail bounces; set it to"
                      " regexp:/etc/postfix/oncedrop_status",
                      name, set ? "= " : "is not set", set ? tables : "", set ? " does not turn 5.3.0 into 4.3.0" : "");
}

static void check_filters(const struct postconf_services *services, const char *mailbox_command)
{
    for (size_t i = 0; i < services->count; i++) {
        const struct postconf_service *service = &services->all[i];
        if (strcmp(service->daemon, "pipe") != 0 || !check_postfix_ours(service))
            continue;
        char *tables OD_CLEANUP(base_free) = postconf_value_for(service, "pipe_delivery_status_filter");
        check_filter("pipe_delivery_status_filter", tables);
    }
    if (strstr(mailbox_command, "oncedrop") == NULL)
        return;
    char *tables OD_CLEANUP(base_free) = postconf_value("local_delivery_status_filter");
    check_filter("local_delivery_status_filter", tables);
}

/* pipe(8) can tell the login; over LMTP it is known from the Received field alone. */
static void check_login_is_told(const struct postconf_services *services)
{
    bool needed = false, told = false;
    for (size_t i = 0; i < services->count; i++) {
        const struct postconf_service *service = &services->all[i];
        needed = needed || (check_postfix_ours(service) && strstr(service->arguments, "sasl_username") == NULL);
        told = told || strstr(service->arguments, "smtpd_sasl_authenticated_header=yes") != NULL;
    }
    if (!needed || told)
        return;
    char *header OD_CLEANUP(base_free) = postconf_value("smtpd_sasl_authenticated_header");
    if (header != NULL && strcmp(header, "yes") != 0)
        check_warning(
            "postfix",
            "smtpd_sasl_authenticated_header = %s: who logged in to send a message is unknown, and Sent gets no"
            " copy; set it to yes, or route.sent_copy = off",
            header);
}

static void check_mailbox_transport(void)
{
    char *transport OD_CLEANUP(base_free) = postconf_value("mailbox_transport");
    if (transport != NULL && transport[0] != '\0')
        check_warning("postfix",
                      "mailbox_transport = %s comes before mailbox_command, which is not run: unset one of them",
                      transport);
}

/* local(8) runs no command as root, but as nobody, whose login leads to no account. */
static void check_mail_for_root(void)
{
    char *tables OD_CLEANUP(base_free) = postconf_value("alias_maps");
    char **words = postconf_words(tables != NULL ? tables : "");
    if (!has_in_table(words, "root"))
        check_warning(
            "postfix",
            "mail for root has no reader, and is deferred: name one in /etc/aliases, as in root: lisa, and run"
            " newaliases");
    g_strfreev(words);
}

static void check_mailbox_command(const char *command)
{
    if (strstr(command, "oncedrop") == NULL)
        return;
    check_mailbox_transport();
    check_mail_for_root();
}

void check_postfix_way(const struct config *config, const struct postconf_services *services,
                       const char *mailbox_command)
{
    check_classes();
    check_transports(services);
    check_mailbox_command(mailbox_command);
    check_filters(services, mailbox_command);
    if (config->route.sent_copy == SENT_COPY_AUTHENTICATED)
        check_login_is_told(services);
}
