/* SPDX-License-Identifier: ISC
 *
 * What `oncedrop check` examines in Postfix's settings. */
#ifndef ONCEDROP_CHECK_POSTFIX_H
#define ONCEDROP_CHECK_POSTFIX_H

#include "base/config.h"
#include "cmd/postconf.h"

/* Examines Postfix's settings, if postconf(1) is installed: whether mail is routed to us, and limits that do not fit
 * ours. max_connections: of the database; 0 if unknown. directory: of Postfix's configuration; NULL: the default.
 * domain: of the address that is asked about; NULL if none. */
void check_postfix(const struct config *config, int64_t max_connections, const char *directory, const char *domain);

/* Whether a service in master.cf is ours: pipe(8), spawn(8), or the LMTP client that connects to us. */
bool check_postfix_ours(const struct postconf_service *service) OD_MUST;

/* Whether the value of a transport setting is this service (NAME or NAME:NEXTHOP), or its socket. */
bool check_postfix_leads_to(const char *value, const struct postconf_service *service) OD_MUST;

/* Parts of check_postfix (check_postfix_domain.c): is any domain in two address classes; and does mail for this one come to
 * us? The latter is only for a Postfix with a service or command of ours. */
void check_postfix_classes(const struct postconf *postconf);
void check_postfix_domain(const struct postconf *postconf, const char *domain);

/* A part of check_postfix: is mail routed to us, with the information that Sent copies need? */
void check_postfix_way(const struct config *config, const struct postconf *postconf);

/* A part of check_postfix: are there more clients of the resident service at once than it has workers? Not seen are those
 * that a table names, such as transport_maps. */
void check_postfix_clients(const struct config *config, const struct postconf *postconf);

/* How many processes of this service Postfix runs at once; INT64_MAX: no limit. */
int64_t check_postfix_processes(const struct postconf *postconf, const struct postconf_service *service) OD_MUST;

#endif
