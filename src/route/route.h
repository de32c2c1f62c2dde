/* SPDX-License-Identifier: ISC
 *
 * Maps an address to an account and its mailboxes. */
#ifndef ONCEDROP_ROUTE_H
#define ONCEDROP_ROUTE_H

#include "base/base.h"
#include "base/config.h"
#include "ledger/ledger.h"

/* address.c
 * Parses an envelope address (RFC 5321, 4.1.2) with its subaddress (RFC 5233; Postfix: extension). */

#define ADDRESS_MAX 512 /* bytes; RFC 5321 allows 256 */

struct address {
    char *address; /* user@domain, ASCII letters in lower case */
    char *user;    /* before the first '+', lower case, quoted if necessary */
    char *detail;  /* after that '+', as written; may be "" */
    char *domain;  /* lower case; may be "" */
};

/* Parses an address, without surrounding blanks and one pair of <>. Returns false with the error set if it is empty,
 * not UTF-8, longer than ADDRESS_MAX, has control characters, nothing before or after '@', or a second '@' after a
 * quoted local part. */
bool address_parse(const char *text, struct address *ret, struct error *error) OD_MUST;

void address_clear(struct address *address);

/* Returns an address from Postfix as a new string to be routed and recorded, with U+FFFD for control characters and
 * invalid UTF-8. */
char *address_clean(const char *text) OD_MUST;

/* Expands %{address}, %{user}, %{domain}, %{detail} and %%. Returns a new string, or NULL with the error set. address
 * NULL: only checks. */
char *address_expand(const char *template, const struct address *address, struct error *error) OD_MUST;

/* route.c */

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
