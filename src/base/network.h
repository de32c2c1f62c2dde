/* SPDX-License-Identifier: ISC
 *
 * CIDR networks (RFC 4632, RFC 4291). IPv4-mapped addresses (::ffff:192.0.2.1), as from dual-stack sockets, count as
 * IPv4. */
#ifndef ONCEDROP_NETWORK_H
#define ONCEDROP_NETWORK_H

#include <sys/socket.h>

#include "base/base.h"

struct network {
    unsigned char address[16]; /* IPv4 is mapped */
    unsigned bits;             /* prefix length */
};

/* Parses ADDRESS/BITS or ADDRESS. Returns false, with *ret untouched, also if bits after the prefix are set
 * (192.0.2.1/24). */
bool network_parse(const char *text, struct network *ret) OD_MUST;

/* Returns true if a network of the list, with blanks or commas between, contains the address (AF_INET, AF_INET6).
 * Skips what network_parse refuses. */
bool network_list_contains(const char *list, const struct sockaddr *address) OD_MUST;

/* Returns true for loopback and AF_UNIX. */
bool network_is_loopback(const struct sockaddr *address) OD_MUST;

/* Returns true for the text of a loopback address; false for names, "localhost" too. */
bool network_is_loopback_text(const char *address) OD_MUST;

/* Returns the first entry that network_parse refuses, as a new string, or NULL. */
char *network_list_wrong(const char *list) OD_MUST;

#endif
