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
    char *address; /* without detail */
    char *domain;  /* lower case */
    char *account;
    char *inbox;                 /* for mail to this address; INBOX in upper case (RFC 3501, 5.1) */
    char *fallback;              /* mailbox without detail, if that named the inbox */
    char *sent;                  /* for mail from it; NULL: no Sent copies */
    char *home;                  /* the inbox, if one login opens all mailboxes; else NULL */
    const struct config *server; /* of the account's server */
    const char *account_by, *inbox_by, *sent_by, *server_by; /* settings, such as "route.account" */
};

enum route_result {
    ROUTE_ERROR,
    ROUTE_OK,
    ROUTE_NONE,      /* account_query returned no row */
    ROUTE_NO_SERVER, /* the templates name an unknown server */
};

/* Finds the account by route.account_query or, if it is not set, by route.account. With route.detail = folder the
 * detail names the mailbox, unless it is empty, over 64 bytes or invalid UTF-8, begins with ~ or \, or has a separator
 * (/ or .), a wildcard or a control character: then the inbox. Sets *ret on ROUTE_OK, else the error. */
enum route_result route_find(const struct config *config, struct ledger *ledger, const struct address *address,
                             struct route *ret, struct error *error) OD_MUST;

/* Returns ROUTE_OK if the address maps to this account, and sets *ret_server, if not NULL, to its server; ROUTE_NONE if
 * not. */
enum route_result route_leads_to(const struct config *config, struct ledger *ledger, const struct address *address,
                                 const char *account, const struct config **ret_server, struct error *error) OD_MUST;

void route_clear(struct route *route);

/* Returns true if the [route] settings are valid together; else the error names one. */
bool route_check(const struct config *config, struct error *error) OD_MUST;

#endif
