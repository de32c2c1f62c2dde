/* SPDX-License-Identifier: ISC
 *
 * Domains: each is in one address class, and the class of an address that is asked about leads to us. */
#include <glib.h>
#include <string.h>

#include "cmd/check_postfix.h"
#include "cmd/check_report.h"

/* Of two classes, the earlier one in this list counts (trivial-rewrite(8)). Domains of aliases have no transport. */
static const struct {
    const char *domains, *transport;
} classes[] = {
    {"mydestination", "local_transport"},
    {"virtual_alias_domains", NULL},
    {"virtual_mailbox_domains", "virtual_transport"},
};

static bool names(char **list, const char *domain)
{
    for (char **word = list; *word != NULL; word++)
        if (!postconf_is_table(*word) && g_ascii_strcasecmp(*word, domain) == 0)
            return true;
    return false;
}

/* Recommends to keep the class that leads to us. */
static void say_overlap(const struct postconf *postconf, const char *domain, const char *first, const char *second)
{
    bool by_command = strstr(postconf_value(postconf, "mailbox_command"), "oncedrop") != NULL;
    check_item(false, "postfix",
               "%s is in both %s and %s: Postfix uses the first, and mail for it is refused or delivered elsewhere;"
               " remove it from %s",
               domain, first, second, by_command && strcmp(first, "mydestination") == 0 ? second : first);
}

static void check_two_classes(const struct postconf *postconf, const char *first, const char *second)
{
    char **ones = postconf_words(postconf_value(postconf, first));
    char **twos = postconf_words(postconf_value(postconf, second));
    for (char **word = ones; *word != NULL; word++)
        if (!postconf_is_table(*word) && (names(twos, *word) || postconf_in_tables(postconf, twos, *word)))
            say_overlap(postconf, *word, first, second);
    for (char **word = twos; *word != NULL; word++)
        if (!postconf_is_table(*word) && postconf_in_tables(postconf, ones, *word))
            say_overlap(postconf, *word, first, second);
    g_strfreev(ones);
    g_strfreev(twos);
}

void check_postfix_classes(const struct postconf *postconf)
{
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++)
        for (size_t j = i + 1; j < G_N_ELEMENTS(classes); j++)
            check_two_classes(postconf, classes[i].domains, classes[j].domains);
}

static bool is_in_class(const struct postconf *postconf, const char *class, const char *domain)
{
    char **words = postconf_words(postconf_value(postconf, class));
    bool found = names(words, domain) || postconf_in_tables(postconf, words, domain);
    g_strfreev(words);
    return found;
}

/* Whether a transport is one of our services, or a server outside of master.cf, which may be ours. */
static bool may_be_ours(const struct postconf *postconf, const char *transport)
{
    size_t count;
    const struct postconf_service *services = postconf_services(postconf, &count);
    if (strncmp(transport, "lmtp:", strlen("lmtp:")) == 0 && strstr(transport, ":unix:private/") == NULL)
        return true;
    for (size_t i = 0; i < count; i++)
        if (check_postfix_ours(&services[i]) && check_postfix_leads_to(transport, &services[i]))
            return true;
    return false;
}

static bool local_is_ours(const struct postconf *postconf)
{
    const char *mailbox_transport = postconf_value(postconf, "mailbox_transport");
    if (mailbox_transport[0] != '\0')
        return may_be_ours(postconf, mailbox_transport);
    return strstr(postconf_value(postconf, "mailbox_command"), "oncedrop") != NULL;
}

/* A table may name another transport for some addresses. */
static bool has_transport_tables(const struct postconf *postconf)
{
    return postconf_value(postconf, "transport_maps")[0] != '\0' ||
           postconf_value(postconf, "mailbox_transport_maps")[0] != '\0' ||
           postconf_value(postconf, "mailbox_command_maps")[0] != '\0';
}

static void say_other_way(const struct postconf *postconf, const char *domain, size_t class)
{
    const char *transport = classes[class].transport;
    if (class == 0)
        check_item(false, "postfix",
                   "%s is in mydestination, from where no mail comes to oncedrop: move it to virtual_mailbox_domains,"
                   " or set mailbox_command; see oncedrop-postfix(7)",
                   domain);
    else
        check_item(false, "postfix",
                   "%s is in %s, but %s = %s does not lead to oncedrop: no mail for it comes here; see"
                   " oncedrop-postfix(7)",
                   domain, classes[class].domains, transport, postconf_value(postconf, transport));
}

void check_postfix_domain(const struct postconf *postconf, const char *domain)
{
    if (has_transport_tables(postconf))
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++) {
        if (!is_in_class(postconf, classes[i].domains, domain))
            continue;
        if (classes[i].transport != NULL && !may_be_ours(postconf, postconf_value(postconf, classes[i].transport)) &&
            (i != 0 || !local_is_ours(postconf)))
            say_other_way(postconf, domain, i);
        return;
    }
    if (!is_in_class(postconf, "relay_domains", domain))
        check_item(false, "postfix",
                   "%s is not a domain of this Postfix, which sends its mail elsewhere: add it to"
                   " virtual_mailbox_domains; see oncedrop-postfix(7)",
                   domain);
}
