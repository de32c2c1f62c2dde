/* SPDX-License-Identifier: ISC
 *
 * Networks: what is one, and which addresses it has.
 *
 * Seen to fail: the bits of IPv4 counted from the beginning of IPv6; one bit less compared. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static bool contains(const char *list, const char *text)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return network_list_contains(list, (const struct sockaddr *)&four);
    assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return network_list_contains(list, (const struct sockaddr *)&six);
}

static void test_parse(void **state)
{
    static const char *const right[] = {"0.0.0.0/0",
                                        "::/0",
                                        "192.0.2.0/24",
                                        "192.0.2.128/25",
                                        "192.0.2.1/32",
                                        "192.0.2.1",
                                        "2001:db8::/32",
                                        "2001:db8::1/128",
                                        "::1",
                                        "10.0.0.0/7",
                                        "fe80::/10",
                                        "fc00::/7",
                                        "::ffff:192.0.2.0/120"};
    static const char *const wrong[] = {
        "",
        "/",
        "/24",
        "192.0.2.0/",
        "192.0.2.0/33",
        "192.0.2.0/-1",
        "192.0.2.0/ 24",
        "192.0.2.1/24",
        "192.0.2/24",
        "192.0.2.0/24x",
        "192.0.2.0/+24",
        "2001:db8::1/64",
        "2001:db8::/129",
        "localhost",
        "[::1]",
        "::1/0",
        "192.0.2.0/24/8",
        "192.0.2.0/255.255.255.0",
    };
    struct network network = {.bits = 77};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (network_parse(wrong[i], &network) || network.bits != 77)
            fail_msg("accepted: %s", wrong[i]);
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
        if (!network_parse(right[i], &network))
            fail_msg("refused: %s", right[i]);
    assert_null(network_list_wrong(" 192.0.2.0/24,, ::1\t"));
    char *first OD_CLEANUP(base_free) = network_list_wrong("192.0.2.0/24, 192.0.2.1/24 x");
    assert_string_equal(first, "192.0.2.1/24");
}

static void test_contains(void **state)
{
    static const struct {
        const char *list, *address;
        bool in;
    } cases[] = {
        {"192.0.2.0/24", "192.0.2.255", true},
        {"192.0.2.0/24", "192.0.3.0", false},
        {"192.0.2.128/25", "192.0.2.127", false},
        {"192.0.2.128/25", "192.0.2.128", true},
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.0", false},
        {"0.0.0.0/0", "203.0.113.9", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"::/0", "2001:db8::1", true},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::", false},
        {"192.0.2.0/24", "::ffff:192.0.2.9", true},
        {"192.0.2.0/24", "::192.0.2.9", false},
        {"::ffff:192.0.2.0/120", "192.0.2.9", true},
        {"", "192.0.2.1", false},
        {"nonsense", "192.0.2.1", false},
        {"192.0.2.0/24, 2001:db8::/32", "2001:db8::1", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (contains(cases[i].list, cases[i].address) != cases[i].in)
            fail_msg("case %zu", i);
}

static void test_loopback(void **state)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr local = {.sa_family = AF_UNIX};
    (void)state;
    four.sin_addr.s_addr = htonl(0x7f010203);
    assert_true(network_is_loopback((const struct sockaddr *)&four));
    four.sin_addr.s_addr = htonl(0x80000001);
    assert_false(network_is_loopback((const struct sockaddr *)&four));
    assert_true(network_is_loopback(&local));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_contains),
        cmocka_unit_test(test_loopback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
