/* SPDX-License-Identifier: ISC
 *
 * A message's way to us: its transport exists, and no setting on the way bounces mail or hides its sender. */
#include <glib.h>
#include <string.h>

#include "cmd/check_postfix.h"
#include "cmd/check_report.h"

static const char *const transports[] = {"local_transport",   "virtual_transport", "relay_transport",
                                         "default_transport", "mailbox_transport", "fallback_transport"};

/* Tables that may name any transport, for particular addresses. */
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

/* Transports */

struct transports_seen {
    const struct postconf_service *services;
    size_t count;
    bool *used;   /* a flag for each service */
    bool unknown; /* a table may name further ones */
};

bool check_postfix_leads_to(const char *value, const struct postconf_service *service)
{
    size_t length = strlen(service->name);
    char *socket OD_CLEANUP(base_free) = base_printf("private/%s", service->name);
    return (strncmp(value, service->name, length) == 0 && (value[length] == '\0' || value[length] == ':')) ||
           g_str_has_suffix(value, socket);
}

static bool is_defined(const struct transports_seen *seen, const char *name)
{
    for (size_t i = 0; i < seen->count; i++)
        if (strcmp(seen->services[i].name, name) == 0)
            return true;
    return false;
}

static void check_defined(const struct transports_seen *seen, const char *setting, const char *value)
{
    char *name OD_CLEANUP(base_free) = base_strndup(value, strcspn(value, ":"));
    const char *socket = strstr(value, ":unix:private/");
    const char *server = socket != NULL ? socket + strlen(":unix:private/") : NULL;
    const char *missing = !is_defined(seen, name) ? name : server;
    if (missing != NULL && !is_defined(seen, missing))
        check_item(
            false, "postfix",
            "%s = %s, but master.cf has no service %s: mail is deferred; add the service, see oncedrop-postfix(7)",
            setting, value, missing);
}

static void see_setting(const char *name, const char *value, void *context)
{
    struct transports_seen *seen = context;
    if (value[0] == '\0')
        return;
    if (is_one_of(name, transports, G_N_ELEMENTS(transports)))
        check_defined(seen, name, value);
    if (is_one_of(name, transport_tables, G_N_ELEMENTS(transport_tables)))
        seen->unknown = true;
    for (size_t i = 0; i < seen->count; i++)
        if (check_postfix_leads_to(value, &seen->services[i]))
            seen->used[i] = true;
}

/* Another service may refer to it, as with -o virtual_transport=NAME. */
static bool is_named_by_another(const struct transports_seen *seen, const struct postconf_service *service)
{
    char *value OD_CLEANUP(base_free) = base_printf("=%s", service->name);
    char *socket OD_CLEANUP(base_free) = base_printf("private/%s", service->name);
    for (size_t i = 0; i < seen->count; i++) {
        const char *arguments = seen->services[i].arguments;
        if (&seen->services[i] != service && (strstr(arguments, value) != NULL || strstr(arguments, socket) != NULL))
            return true;
    }
    return false;
}

static void check_transports(const struct postconf *postconf)
{
    struct transports_seen seen = {.unknown = false};
    seen.services = postconf_services(postconf, &seen.count);
    bool *used OD_CLEANUP(base_free) = base_alloc((seen.count + 1) * sizeof(*used));
    seen.used = used;
    postconf_each(postconf, see_setting, &seen);
    for (size_t i = 0; i < seen.count; i++) {
        const struct postconf_service *service = &seen.services[i];
        if (check_postfix_ours(service) && strcmp(service->type, "unix") == 0 && !used[i] && !seen.unknown &&
            !is_named_by_another(&seen, service))
            check_warning("postfix",
                          "nothing uses the service %s in master.cf: set virtual_transport or mailbox_transport, or"
                          " remove it",
                          service->name);
    }
}

/* Settings on the way */

static void check_filter(const struct postconf *postconf, const char *name, const char *tables)
{
    bool defers = false;
    char **words = postconf_words(tables);
    for (char **word = words; *word != NULL && !defers; word++) {
        char *found OD_CLEANUP(base_free) = postconf_lookup(postconf, *word, "5.3.0 Command died");
        defers = found != NULL && found[0] == '4';
    }
    g_strfreev(words);
    if (!defers)
        check_warning("postfix",
                      "%s %s%s%s: mail bounces while the program cannot be loaded, as during an upgrade; set it to"
                      " regexp:/etc/postfix/oncedrop_status",
                      name, tables[0] != '\0' ? "= " : "is not set", tables,
                      tables[0] != '\0' ? " does not turn 5.3.0 into 4.3.0" : "");
}

static void check_pipe_filters(const struct postconf *postconf)
{
    size_t count;
    const struct postconf_service *services = postconf_services(postconf, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(services[i].daemon, "pipe") == 0 && check_postfix_ours(&services[i]))
            check_filter(postconf, "pipe_delivery_status_filter",
                         postconf_value_for(postconf, &services[i], "pipe_delivery_status_filter"));
}

/* pipe(8) can pass the login on; over LMTP it is known only from the Received field. */
static void check_login_is_told(const struct postconf *postconf)
{
    size_t count;
    const struct postconf_service *services = postconf_services(postconf, &count);
    const char *header = postconf_value(postconf, "smtpd_sasl_authenticated_header");
    bool needed = false, told = header[0] == '\0' || strcmp(header, "yes") == 0;
    for (size_t i = 0; i < count; i++) {
        const char *arguments = services[i].arguments;
        needed = needed || (check_postfix_ours(&services[i]) && strstr(arguments, "sasl_username") == NULL);
        told = told || strstr(arguments, "smtpd_sasl_authenticated_header=yes") != NULL;
    }
    if (needed && !told)
        check_warning("postfix",
                      "smtpd_sasl_authenticated_header = %s: the login that sent a message is unknown, so no Sent copy"
                      " is made; set it to yes, or set route.sent_copy = off",
                      header);
}

/* For root, local(8) runs the command as nobody, whose login maps to no account. */
static void check_mail_for_root(const struct postconf *postconf)
{
    char **words = postconf_words(postconf_value(postconf, "alias_maps"));
    if (!postconf_in_tables(postconf, words, "root"))
        check_warning(
            "postfix",
            "alias_maps has no entry for root, whose mail is deferred: add a line such as root: lisa to /etc/aliases"
            " and run newaliases");
    g_strfreev(words);
}

static void check_mailbox_command(const struct postconf *postconf)
{
    const char *transport = postconf_value(postconf, "mailbox_transport");
    if (transport[0] != '\0')
        check_warning("postfix",
                      "mailbox_transport = %s overrides mailbox_command, which is never run: unset one of them",
                      transport);
    check_mail_for_root(postconf);
    check_filter(postconf, "local_delivery_status_filter", postconf_value(postconf, "local_delivery_status_filter"));
}

void check_postfix_way(const struct config *config, const struct postconf *postconf)
{
    check_transports(postconf);
    check_pipe_filters(postconf);
    if (strstr(postconf_value(postconf, "mailbox_command"), "oncedrop") != NULL)
        check_mailbox_command(postconf);
    if (config->route.sent_copy == SENT_COPY_AUTHENTICATED)
        check_login_is_told(postconf);
}
