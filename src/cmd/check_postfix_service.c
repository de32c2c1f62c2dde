/* SPDX-License-Identifier: ISC
 *
 * Postfix's clients of the resident service: no more of them than it has workers. */
#include <glib.h>
#include <string.h>

#include "cmd/check_postfix.h"
#include "cmd/check_report.h"

struct way {
    const struct config *config;
    const char *client; /* a service in master.cf */
    bool scheduled;     /* by the queue manager, which limits the concurrency of a destination ... */
    bool by_local;      /* ... or local(8) hands mail over, which has limits of its own */
};

/* An address without "inet:" and brackets; a new string. */
static char *plain_address(const char *address)
{
    char *plain = base_strdup(g_str_has_prefix(address, "inet:") ? address + strlen("inet:") : address), *to = plain;
    for (const char *at = plain; *at != '\0'; at++)
        if (*at != '[' && *at != ']')
            *to++ = *at;
    *to = '\0';
    return plain;
}

/* Whether the value of a transport setting is this client with the service's socket. */
static bool leads_to_service(const char *value, const struct way *way)
{
    size_t length = strlen(way->client);
    if (strncmp(value, way->client, length) != 0 || value[length] != ':')
        return false;
    const char *socket = way->config->service.socket, *nexthop = value + length + 1;
    if (socket[0] == '/')
        return g_str_has_prefix(nexthop, "unix:") && strcmp(nexthop + strlen("unix:"), socket) == 0;
    char *ours OD_CLEANUP(base_free) = plain_address(socket);
    char *theirs OD_CLEANUP(base_free) = plain_address(nexthop);
    return strcmp(ours, theirs) == 0;
}

static void see_setting(const char *name, const char *value, void *context)
{
    struct way *way = context;
    bool local = strcmp(name, "mailbox_transport") == 0 || strcmp(name, "fallback_transport") == 0;
    if (!leads_to_service(value, way))
        return;
    way->by_local = way->by_local || local;
    way->scheduled = way->scheduled || !local;
}

/* Zero means no limit. */
static int64_t limit_of(const char *text)
{
    int64_t limit = g_ascii_strtoll(text, NULL, 10);
    return limit > 0 ? limit : INT64_MAX;
}

int64_t check_postfix_processes(const struct postconf *postconf, const struct postconf_service *service)
{
    bool own = strcmp(service->processes, "-") != 0;
    return limit_of(own ? service->processes : postconf_value(postconf, "default_process_limit"));
}

static void check_client(const struct config *config, const struct postconf *postconf,
                         const struct postconf_service *client)
{
    struct way way = {.config = config, .client = client->name};
    char *name OD_CLEANUP(base_free) = base_printf("%s_destination_concurrency_limit", client->name);
    int64_t workers = config->service.workers, processes = check_postfix_processes(postconf, client);
    postconf_each(postconf, see_setting, &way);
    if (processes <= workers)
        return;
    if (way.by_local)
        check_warning("postfix",
                      "%s: more processes than service.workers = %lld: clients wait for each other, and mail is"
                      " delivered more slowly; set maxproc in master.cf to %lld",
                      client->name, (long long)workers, (long long)workers);
    else if (way.scheduled && limit_of(postconf_value(postconf, name)) > workers)
        check_warning("postfix",
                      "%s = %s, but service.workers = %lld: clients wait for each other, and mail is delivered more"
                      " slowly; set both to the same number",
                      name, postconf_value(postconf, name), (long long)workers);
}

void check_postfix_clients(const struct config *config, const struct postconf *postconf)
{
    size_t count;
    const struct postconf_service *services = postconf_services(postconf, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(services[i].daemon, "lmtp") == 0)
            check_client(config, postconf, &services[i]);
}
