/* SPDX-License-Identifier: ISC
 *
 * Maps an address to an account and its mailboxes. */
#ifndef ONCEDROP_ROUTE_H
#define ONCEDROP_ROUTE_H

#include "base/base.h"
#include "base/config.h"
#include "ledger/ledger.h"
#include "route/address.h"

struct route {
    char *address; /* normalised, without the detail */
    char *domain;  /* of the address, lower case */
    char *account;
    char *inbox;    /* mailbox for mail to this address; INBOX if it is INBOX in any case (RFC 3501, 5.1) */
    char *fallback; /* the mailbox without the detail, if that named the inbox; NULL: the inbox is the only one */
    char *sent;     /* mailbox for mail from this address; \Sent likewise; NULL: no Sent copies for this account */
    char *home;     /* where one login opens everybody's mailboxes (config_is_shared), the account's inbox; else NULL */
    const struct config *server; /* the configuration with the account's IMAP server (config_server) */
    const char *account_by, *inbox_by, *sent_by, *server_by; /* the settings that decided, such as "route.account" */
};

enum route_result {
    ROUTE_TROUBLE, /* fault set */
    ROUTE_OK,
    ROUTE_NONE,      /* account_query succeeded and returned no row: there is no such account; fault set */
    ROUTE_NO_SERVER, /* by the templates alone it would be on a server that there is not; fault set */
};

/* Finds the account of an address: by route.account_query if it is set, else by the template route.account. With
 * route.detail = folder the detail names the mailbox, unless it is unsuitable (hierarchy separators, wildcards, control
 * characters, not UTF-8, longer than 64 bytes): then the inbox is used. *ret is set on ROUTE_OK only. */
enum route_result route_find(const struct config *config, struct ledger *ledger, const struct address *address,
                             struct route *ret, struct fault *fault) OD_MUST;

/* Whether an address maps to this account. ROUTE_OK: yes; ROUTE_NONE: no; ROUTE_TROUBLE: fault set. */
enum route_result route_leads_to(const struct config *config, struct ledger *ledger, const struct address *address,
                                 const char *account, struct fault *fault) OD_MUST;

void route_clear(struct route *route); /* for OD_CLEANUP */

/* Whether the [route] settings are valid, and go with each other; the fault names the one that is not. */
bool route_check(const struct config *config, struct fault *fault) OD_MUST;

#endif
