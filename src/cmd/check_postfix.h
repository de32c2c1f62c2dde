/* SPDX-License-Identifier: ISC
 *
 * What `oncedrop check` examines in Postfix's settings. */
#ifndef ONCEDROP_CHECK_POSTFIX_H
#define ONCEDROP_CHECK_POSTFIX_H

#include "base/config.h"
#include "cmd/postconf.h"

/* Examines Postfix's settings, if postconf(1) is installed: whether mail is routed to us, and limits that do not fit
 * ours. max_connections: of the database; 0 if unknown. directory: of Postfix's configuration; NULL: the default. */
void check_postfix(const struct config *config, int64_t max_connections, const char *directory);

/* Whether a service in master.cf is ours: pipe(8), spawn(8), or the LMTP client that connects to us. */
bool check_postfix_ours(const struct postconf_service *service) OD_MUST;

/* A part of check_postfix: is mail routed to us, with the information that Sent copies need? */
void check_postfix_way(const struct config *config, const struct postconf *postconf);

#endif
