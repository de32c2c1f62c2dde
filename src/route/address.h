/* SPDX-License-Identifier: ISC
 *
 * Parses an envelope address (RFC 5321, 4.1.2) with its subaddress (RFC 5233), which Postfix calls the extension. */
#ifndef ONCEDROP_ADDRESS_H
#define ONCEDROP_ADDRESS_H

#include "base/base.h"

#define ADDRESS_MAX 512 /* bytes; RFC 5321 allows 256 */

struct address {
    char *address; /* user@domain without the detail, ASCII letters in lower case */
    char *user;    /* local part before the first '+', lower case, unquoted unless it needs quotes (RFC 5321, 4.1.2) */
    char *detail;  /* what follows that '+', as written; "" if there is none */
    char *domain;  /* lower case; "" if there is none */
};

/* Parses an address. Surrounding blanks and one pair of <> are removed. False with the fault set if the address is
 * empty, has nothing before or after its '@', has a second '@' after a quoted local part, is longer than ADDRESS_MAX,
 * is not UTF-8, or contains control characters; *ret is then untouched. */
bool address_parse(const char *text, struct address *ret, struct fault *fault) OD_MUST;

void address_clear(struct address *address); /* for OD_CLEANUP */

/* A new string: an address from Postfix, with U+FFFD in place of control characters and invalid UTF-8, so that it can
 * be routed and recorded. */
char *address_clean(const char *text) OD_MUST;

/* Expands %{address}, %{user}, %{domain}, %{detail} and %% in a template. Returns a new string, or NULL with the fault
 * set: an unknown name or a lone '%'. With address NULL, only checks the template. */
char *address_expand(const char *template, const struct address *address, struct fault *fault) OD_MUST;

#endif
