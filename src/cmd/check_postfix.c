/* SPDX-License-Identifier: ISC
 *
 * Postfix's settings for delivery agents: time limits that bounce, limits that multiply, shells that hide exit
 * statuses. */
#include "cmd/check_postfix.h"

#include <glib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/check_report.h"
#include "lmtp/lmtp.h"

/* Postfix itself runs a command that consists of these characters; any other it runs with /bin/sh -c
 * (pipe_command(3)). */
#define NO_SHELL "0123456789!@%-_=+:,./abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \t"

/* A setting whose name begins with the name of the transport. */
static const char *setting(const struct postconf *postconf, const struct postconf_service *service, const char *suffix)
{
    char *name OD_CLEANUP(base_free) = base_printf("%s%s", service->name, suffix);
    return postconf_value_for(postconf, service, name);
}

/* A time as written by Postfix ("1000s", "20m"), in milliseconds; 0 if it is not one. */
static int64_t time_of(const char *text)
{
    int64_t ms = 0;
    return config_parse_duration(text, &ms) ? ms : 0;
}

static void check_time(const struct config *config, const char *what, const char *text, int64_t needed)
{
    int64_t limit = time_of(text);
    if (limit > 0 && limit <= needed)
        check_warning("postfix",
                      "%s = %s is not above the %lld s a delivery may take (delivery.deadline = %lld s, once for"
                      " reading and once for delivering): Postfix bounces mail if it has to kill the process",
                      what, text, (long long)needed / 1000, (long long)config->delivery.deadline / 1000);
}

/* Of a process of `deliver`, with whatever the service does. */
static int64_t longest(const struct config *config)
{
    return 2 * config->delivery.deadline + CONFIG_FRONT_MS;
}

static void check_processes(const struct postconf *postconf, const struct postconf_service *service,
                            int64_t max_connections)
{
    int64_t processes = check_postfix_processes(postconf, service);
    char *most OD_CLEANUP(base_free) = processes == INT64_MAX ? base_strdup("any number of")
                                                              : base_printf("up to %lld", (long long)processes);
    if (max_connections > 0 && processes > max_connections - 5)
        check_warning("postfix",
                      "%s: %s processes at once, but the database takes %lld connections: set maxproc in master.cf or"
                      " put a pooler in between",
                      service->name, most, (long long)max_connections);
}

static void check_pipe(const struct config *config, const struct postconf *postconf,
                       const struct postconf_service *service)
{
    const char *recipients = setting(postconf, service, "_destination_recipient_limit");
    char *what OD_CLEANUP(base_free) = base_printf("%s_time_limit", service->name);
    check_time(config, what, setting(postconf, service, "_time_limit"), longest(config));
    if (strcmp(recipients, "1") != 0)
        check_warning("postfix",
                      "%s_destination_recipient_limit = %s: must be 1, one process delivers to one recipient",
                      service->name, recipients);
}

/* A client that gives up sends the message again. */
static void check_client(const struct config *config, const struct postconf *postconf,
                         const struct postconf_service *service)
{
    const char *text = postconf_value_for(postconf, service, "lmtp_data_done_timeout");
    int64_t limit = time_of(text);
    if (limit > 0 && limit <= config->delivery.deadline)
        check_warning("postfix",
                      "lmtp_data_done_timeout = %s is not above delivery.deadline = %lld s: Postfix does not wait for"
                      " the answer and sends the message again; raise it",
                      text, (long long)config->delivery.deadline / 1000);
}

static void check_postfix_service(const struct config *config, const struct postconf *postconf,
                                  const struct postconf_service *service, int64_t max_connections)
{
    if (strcmp(service->daemon, "lmtp") == 0) {
        check_client(config, postconf, service);
        return;
    }
    if (strcmp(service->daemon, "pipe") == 0)
        check_pipe(config, postconf, service);
    else
        check_time(config, "spawn's time limit", setting(postconf, service, "_time_limit"),
                   LMTP_SESSION_MS + 2 * config->delivery.deadline);
    check_processes(postconf, service, max_connections);
}

static void check_mailbox_command(const struct config *config, const struct postconf *postconf)
{
    const char *command = postconf_value(postconf, "mailbox_command");
    check_time(config, "command_time_limit", postconf_value(postconf, "command_time_limit"), longest(config));
    if (command[strspn(command, NO_SHELL)] != '\0')
        check_warning("postfix",
                      "mailbox_command contains characters for which Postfix starts a shell: a missing program is then"
                      " status 127, which bounces; use only letters, digits and !@%%-_=+:,./");
}

/* The command's socket: a new string. */
static char *socket_of(const char *command)
{
    const char *at = strstr(command, " -S");
    if (at == NULL)
        return base_strdup(CONFIG_SERVICE_SOCKET);
    at += strlen(" -S") + strspn(at + strlen(" -S"), " ");
    return base_strndup(at, strcspn(at, " "));
}

/* The command runs as the recipient, who may not read the configuration. */
static void check_rights(const struct config *config, const char *command)
{
    struct stat found;
    char *socket OD_CLEANUP(base_free) = socket_of(command);
    if (stat("/proc/self/exe", &found) == 0 && (found.st_mode & S_ISGID) != 0)
        return;
    if (strcmp(socket, config->service.socket) != 0)
        check_warning(
            "postfix",
            "mailbox_command hands mail over to a service on %s, but service.socket = %s: mail for local users is deferred;"
            " give deliver the option -S %s",
            socket, config->service.socket, config->service.socket);
    else if (stat(socket, &found) != 0 || !S_ISSOCK(found.st_mode))
        check_warning("postfix",
                      "mailbox_command runs as the recipient, who may not read the configuration, and no service is on"
                      " %s: mail for local users is deferred; start oncedrop serve, see oncedrop-postfix(7)",
                      socket);
}

/* The service delivers for an ordinary user only to the account that the login name maps to. */
static void check_login_account(const struct config *config)
{
    const char *account = config->route.account;
    bool needs_domain = strstr(account, "%{address}") != NULL || strstr(account, "%{domain}") != NULL;
    if (config->route.account_query[0] == '\0' && needs_domain)
        check_warning("postfix",
                      "mailbox_command runs as the recipient, whose login name has no domain, but route.account ="
                      " %s needs one: every such delivery is deferred; use %%{user} or account_query",
                      account);
}

/* Mail that we defer for a set time must still be in Postfix's queue at the end of that time. */
static void check_lifetime(const struct config *config, const struct postconf *postconf)
{
    const char *lifetime = postconf_value(postconf, "maximal_queue_lifetime");
    int64_t limit = time_of(lifetime), longest = config->delivery.hold_off;
    const char *name = "delivery.hold_off";
    if (config->delivery.sent_retry > longest) {
        longest = config->delivery.sent_retry;
        name = "delivery.sent_retry";
    }
    if (config->delivery.reject_after > longest) {
        longest = config->delivery.reject_after;
        name = "delivery.reject_after";
    }
    if (limit > 0 && limit <= longest)
        check_warning("postfix",
                      "maximal_queue_lifetime = %s is not above %s = %lld s: Postfix bounces what should be retried"
                      " again",
                      lifetime, name, (long long)longest / 1000);
    if (limit >= config->record.abandon_after)
        check_warning("postfix",
                      "maximal_queue_lifetime = %s is not below record.abandon_after = %lld d: a message that is still"
                      " in the queue, but was on hold for that long, would be abandoned",
                      lifetime, (long long)config->record.abandon_after / 86400000);
}

void check_postfix(const struct config *config, int64_t max_connections, const char *directory, const char *domain)
{
    struct postconf *postconf OD_CLEANUP(postconf_free) = postconf_read(directory);
    size_t count;
    if (postconf == NULL)
        return;
    const struct postconf_service *services = postconf_services(postconf, &count);
    bool leads_here = strstr(postconf_value(postconf, "mailbox_command"), "oncedrop") != NULL;
    if (strcmp(postconf_value(postconf, "soft_bounce"), "yes") == 0)
        check_warning("postfix", "soft_bounce = yes: mail that is refused for good is retried for days");
    check_postfix_classes(postconf);
    check_postfix_way(config, postconf);
    check_postfix_clients(config, postconf);
    if (leads_here) {
        check_mailbox_command(config, postconf);
        check_login_account(config);
        check_rights(config, postconf_value(postconf, "mailbox_command"));
    }
    check_lifetime(config, postconf);
    for (size_t i = 0; i < count; i++) {
        if (!check_postfix_ours(&services[i]))
            continue;
        leads_here = true;
        check_postfix_service(config, postconf, &services[i], max_connections);
    }
    if (leads_here && domain != NULL)
        check_postfix_domain(postconf, domain);
    check_item(true, "postfix", "settings read%s", leads_here ? "" : "; none of them leads to oncedrop yet");
}
