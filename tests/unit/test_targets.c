/* SPDX-License-Identifier: ISC
 *
 * Where a message belongs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "delivery/delivery_internal.h"

/* If some mailbox takes all the time, it must not be always the same ones that are left for later. */
static void test_order(void **state)
{
    static const struct message message = {.data = (const unsigned char *)"", .digest = {0}};
    int first[2] = {0, 0};
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct config *config OD_CLEANUP(config_free) = config_defaults();
        struct delivery_recipient recipients[2] = {{.address = "scuba@example.org"}, {.address = "doug@example.org"}};
        const struct delivery_request request = {
            .config = config,
            .message = &message,
            .sender = "",
            .recipients = recipients,
            .recipient_count = 2,
        };
        struct delivery_reply replies[2] = {{.uid = 0}};
        struct delivery delivery = {.request = &request, .replies = replies};
        struct targets targets;
        config->route.sent_copy = SENT_COPY_OFF;
        assert_true(targets_collect(&delivery, &targets));
        assert_int_equal(targets.message.target_count, 2);
        assert_int_equal(targets.order[0] + targets.order[1], 1);
        first[targets.order[0]]++;
        targets_clear(&targets);
        for (size_t recipient = 0; recipient < 2; recipient++)
            route_clear(&replies[recipient].route);
    }
    assert_true(first[0] > 0 && first[1] > 0);
}

/* A login name is no address: it is neither folded nor split. Seen to fail with a name that is only parsed. */
static void test_a_login_name(void **state)
{
    static const struct message message = {.data = (const unsigned char *)"", .digest = {0}};
    static const struct {
        const char *login, *account, *recipient;
        bool own;
    } cases[] = {
        {"lisa", "%{user}", "lisa@example.org", true},
        {"lisa", "%{user}.box", "lisa@example.org", true},
        {"lisa", "%{user}", "LISA+folder@example.org", true},
        {"lisa@example.org", "%{user}@%{domain}", "lisa@example.org", true},
        {"LISA", "%{user}", "lisa@example.org", false},
        {"LISA", "%{user}.box", "lisa@example.org", false},
        {"lisa+x", "%{user}", "lisa@example.org", false},
        {"lisa@elsewhere", "%{user}", "lisa@example.org", false},
        {" lisa", "%{user}", "lisa@example.org", false},
        {"<lisa>", "%{user}", "lisa@example.org", false},
        {"\"lisa\"", "%{user}", "lisa@example.org", false},
        {"", "%{user}", "lisa@example.org", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config *config OD_CLEANUP(config_free) = config_defaults();
        struct delivery_recipient recipient = {.address = cases[i].recipient};
        const struct delivery_request request = {
            .config = config,
            .message = &message,
            .sender = "",
            .only_login = cases[i].login,
            .recipients = &recipient,
            .recipient_count = 1,
        };
        struct delivery_reply reply = {.uid = 0};
        struct delivery delivery = {.request = &request, .replies = &reply};
        struct targets targets;
        base_free(&config->route.account);
        config->route.account = base_strdup(cases[i].account);
        assert_int_equal(targets_collect(&delivery, &targets), cases[i].own);
        assert_int_equal(reply.report.given, !cases[i].own);
        targets_clear(&targets);
        route_clear(&reply.route);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_a_login_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
