/* SPDX-License-Identifier: ISC
 *
 * An envelope address taken apart (RFC 5321, 4.1.2), with the subaddress (RFC 5233) that Postfix calls extension. */
#ifndef ONCEDROP_ADDRESS_H
#define ONCEDROP_ADDRESS_H

#include "base/base.h"

#define ADDRESS_MAX 512 /* bytes; RFC 5321 allows 256 */

struct address {
    char *address; /* user@domain without the detail, ASCII letters in lower case */
    char *user; /* local part before the first '+', lower case, without quotes unless it needs them (RFC 5321, 4.1.2) */
    char *detail; /* what follows that '+', as written; "" when there is none */
    char *domain; /* lower case; "" when there is none */
};

/* Takes an address apart. Blanks and one pair of <> around it come off. False with the fault set when it is empty, has
 * nothing before or behind its '@', or a second one behind a quoted local part, is longer than ADDRESS_MAX, not UTF-8, or
 * contains control characters; *ret is then untouched. */
bool address_parse(const char *text, struct address *ret, struct fault *fault) OD_MUST;

void address_clear(struct address *address); /* for OD_CLEANUP */

/* A new string: what Postfix gave as an address, with U+FFFD in the place of control characters and of bytes that are no
 * UTF-8, so that it leads somewhere, or nowhere, and can be recorded. */
char *address_clean(const char *text) OD_MUST;

/* Expands %{address}, %{user}, %{domain}, %{detail} and %% in a template. Returns a new string, or NULL with the fault
 * set: an unknown name or a lone '%'. address may be NULL to check the template only. */
char *address_expand(const char *template, const struct address *address, struct fault *fault) OD_MUST;

#endif
