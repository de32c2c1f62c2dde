/* SPDX-License-Identifier: ISC
 *
 * The templates among the settings: route.account and, where one login opens everybody's mailboxes
 * (config_is_shared), route.inbox and route.sent. */
#ifndef ONCEDROP_ROUTE_TEMPLATE_H
#define ONCEDROP_ROUTE_TEMPLATE_H

#include "route/route.h"

/* Expands a setting of [route] for an address (address_expand). NULL with the fault set. */
char *route_template_expand(const char *setting, const char *template, const struct address *address,
                            struct fault *fault) OD_MUST;

/* Where config_is_shared, sets those of *inbox and *sent that are NULL to new strings; elsewhere nothing. The variables
 * stand for the account here, whatever address led to it. ROUTE_TROUBLE with the fault set: the account has characters
 * that would make it the name of somebody else's mailbox, such as a hierarchy separator, or *sent is \Sent, which would
 * be the login's own. */
enum route_result route_template_mailboxes(const struct config *config, const char *account, char **inbox, char **sent,
                                           struct fault *fault) OD_MUST;

#endif
