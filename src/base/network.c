/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>

#define MAPPED_BITS 96 /* of ::ffff:0:0/96 */
#define LOOPBACK "127.0.0.0/8 ::1"

static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool bit(const unsigned char *address, unsigned i)
{
    return address[i / 8] >> (7 - i % 8) & 1;
}

static bool parse_address(const char *text, unsigned char *ret, unsigned *ret_first)
{
    memcpy(ret, mapped, sizeof(mapped));
    *ret_first = MAPPED_BITS;
    if (inet_pton(AF_INET, text, ret + sizeof(mapped)) == 1)
        return true;
    *ret_first = 0;
    return inet_pton(AF_INET6, text, ret) == 1;
}

bool network_parse(const char *text, struct network *ret)
{
    struct network network;
    const char *slash = strchr(text, '/');
    char *name OD_CLEANUP(base_free) = base_strndup(text, slash != NULL ? (size_t)(slash - text) : strlen(text));
    unsigned first;
    if (!parse_address(name, network.address, &first))
        return false;
    guint64 bits = 128 - first;
    if (slash != NULL && !g_ascii_string_to_unsigned(slash + 1, 10, 0, 128 - first, &bits, NULL))
        return false;
    network.bits = first + (unsigned)bits;
    for (unsigned i = network.bits; i < 128; i++)
        if (bit(network.address, i))
            return false;
    *ret = network;
    return true;
}

static bool address_of(const struct sockaddr *address, unsigned char ret[16])
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    memcpy(ret, mapped, sizeof(mapped));
    if (address->sa_family == AF_INET)
        memcpy(ret + sizeof(mapped), &four->sin_addr, sizeof(four->sin_addr));
    else if (address->sa_family == AF_INET6)
        memcpy(ret, &six->sin6_addr, sizeof(six->sin6_addr));
    else
        return false;
    return true;
}

static bool contains(const struct network *network, const unsigned char *address)
{
    unsigned i = 0;
    while (i < network->bits && bit(network->address, i) == bit(address, i))
        i++;
    return i == network->bits;
}

static bool list_contains(const char *list, const unsigned char *address)
{
    g_auto(GStrv) names = g_strsplit_set(list, " \t,", -1);
    struct network network;
    for (char **name = names; *name != NULL; name++)
        if (network_parse(*name, &network) && contains(&network, address))
            return true;
    return false;
}

bool network_list_contains(const char *list, const struct sockaddr *address)
{
    unsigned char bytes[16];
    return address_of(address, bytes) && list_contains(list, bytes);
}

bool network_is_loopback(const struct sockaddr *address)
{
    return address->sa_family == AF_UNIX || network_list_contains(LOOPBACK, address);
}

bool network_is_loopback_text(const char *address)
{
    unsigned char bytes[16];
    unsigned first;
    return parse_address(address, bytes, &first) && list_contains(LOOPBACK, bytes);
}

char *network_list_wrong(const char *list)
{
    g_auto(GStrv) names = g_strsplit_set(list, " \t,", -1);
    struct network network;
    for (char **name = names; *name != NULL; name++)
        if ((*name)[0] != '\0' && !network_parse(*name, &network))
            return base_strdup(*name);
    return NULL;
}
