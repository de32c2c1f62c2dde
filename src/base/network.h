/* SPDX-License-Identifier: ISC
 *
 * Networks in CIDR notation (RFC 4632, RFC 4291), IPv4 and IPv6. An address of IPv4 that is mapped to IPv6 (::ffff:192.0.2.1),
 * as a socket for both shows it, counts as the address that it is. */
#ifndef ONCEDROP_NETWORK_H
#define ONCEDROP_NETWORK_H

#include <sys/socket.h>

#include "base/base.h"

struct network {
    unsigned char address[16]; /* IPv4 is mapped */
    unsigned bits;             /* how many of them count */
};

/* Parses ADDRESS/BITS, or ADDRESS for that one alone. False if it is neither, or has bits set that do not count, as in
 * 192.0.2.1/24: then *ret is untouched. */
bool network_parse(const char *text, struct network *ret) OD_MUST;

/* Whether the address (AF_INET or AF_INET6; none of any other family) is in one of the networks of a list, which are separated
 * by blanks or commas. Those that network_parse refuses have no addresses. */
bool network_list_contains(const char *list, const struct sockaddr *address) OD_MUST;

/* Whether only this host is at that address: of the loopback interface, or AF_UNIX. */
bool network_is_loopback(const struct sockaddr *address) OD_MUST;

/* The first of the list that network_parse refuses, as a new string; NULL if there is none. */
char *network_list_wrong(const char *list) OD_MUST;

#endif
