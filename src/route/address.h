/* SPDX-License-Identifier: ISC
 *
 * Parses an envelope address (RFC 5321, 4.1.2) with its subaddress (RFC 5233; Postfix: extension). */
#ifndef ONCEDROP_ADDRESS_H
#define ONCEDROP_ADDRESS_H

#include "base/base.h"

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

#endif
