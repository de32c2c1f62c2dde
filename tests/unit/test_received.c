/* SPDX-License-Identifier: ISC
 *
 * What is trusted of the topmost Received field: as written by Postfix, by others, and by attackers. */
#include "message_fixture.h"

#include "delivery/received.h"

#define CLIENT "from client.test (client.test [192.0.2.1])\r\n"
#define TLS \
    "\t(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits)\r\n" \
    "\t key-exchange X25519 server-signature ECDSA (P-256) server-digest SHA256)\r\n"
#define NOT_ASKED "\t(No client certificate requested)\r\n"
#define LISA "\t(Authenticated sender: lisa@mail.example)\r\n"
#define BY "\tby mail.example (Postfix) with "
#define REST " id 4QXyZ16dz9zPV\r\n\tfor <scuba@mail.example>; Fri,  1 Aug 2025 10:00:00 +0200 (CEST)"
#define CN(name) "\t(Client CN \"" name "\", Issuer \"Some CA\" (not verified))\r\n"

static const struct {
    const char *label;
    const char *received;
    const char *login;    /* NULL: none */
    const char *queue_id; /* NULL: none */
} fields[] = {
    /* as Postfix writes it */
    {"login, no TLS", CLIENT LISA BY "ESMTPA" REST, "lisa@mail.example", "4QXyZ16dz9zPV"},
    {"login, TLS in the field", CLIENT TLS NOT_ASKED LISA BY "ESMTPSA" REST, "lisa@mail.example", "4QXyZ16dz9zPV"},
    {"login and certificate", CLIENT TLS CN("Lisa (laptop)") LISA BY "ESMTPSA" REST, "lisa@mail.example",
     "4QXyZ16dz9zPV"},
    {"login, SMTPUTF8", CLIENT LISA BY "UTF8SMTPSA" REST, "lisa@mail.example", "4QXyZ16dz9zPV"},
    {"short queue id", CLIENT LISA BY "ESMTPA id 3F2B61A01C;\r\n\tFri,  1 Aug 2025 10:00:00 +0200 (CEST)",
     "lisa@mail.example", "3F2B61A01C"},
    {"login without a domain", CLIENT "\t(Authenticated sender: lisa)\r\n" BY "ESMTPSA" REST, "lisa", "4QXyZ16dz9zPV"},
    {"address for a name, quotes in the recipient",
     "from [192.0.2.1] (unknown [192.0.2.1])\r\n" LISA BY "ESMTPA id A1\r\n"
     "\tfor <\"a (b\"@mail.example>; Fri,  1 Aug 2025 10:00:00 +0200 (CEST)",
     "lisa@mail.example", "A1"},
    {"nobody logged in", CLIENT BY "ESMTP" REST, NULL, "4QXyZ16dz9zPV"},
    {"smtpd_sasl_authenticated_header = no", CLIENT TLS NOT_ASKED BY "ESMTPSA" REST, NULL, "4QXyZ16dz9zPV"},
    {"smtpd_hide_client_session = yes", "by mail.example (Postfix) id A1;\r\n\tFri,  1 Aug 2025 10:00:00 +0200", NULL,
     "A1"},
    {"sendmail(1)", "by mail.example (Postfix, from userid 1000)\r\n\tid A1B2; Fri,  1 Aug 2025 10:00:00 +0200 (CEST)",
     NULL, "A1B2"},
    {"qmqpd(8)", CLIENT BY "QMQP\r\n\tid A1B2; Fri,  1 Aug 2025 10:00:00 +0200 (CEST)", NULL, "A1B2"},
    {"before a proxy filter: no queue id",
     CLIENT LISA BY "ESMTPSA\r\n\tfor <scuba@mail.example>; Fri, 1 Aug 2025 10:00:00 +0200", NULL, NULL},
    /* logins that Postfix had to change, or may have */
    {"parentheses in the login", CLIENT "\t(Authenticated sender: lisa(x)@mail.example)\r\n" BY "ESMTPA" REST, NULL,
     "4QXyZ16dz9zPV"},
    {"bytes that do not print", CLIENT "\t(Authenticated sender: lis?@mail.example)\r\n" BY "ESMTPA" REST, NULL,
     "4QXyZ16dz9zPV"},
    {"8-bit login", CLIENT "\t(Authenticated sender: lis\xe4@mail.example)\r\n" BY "ESMTPA" REST, NULL,
     "4QXyZ16dz9zPV"},
    {"two words", CLIENT "\t(Authenticated sender: lisa x)\r\n" BY "ESMTPA" REST, NULL, "4QXyZ16dz9zPV"},
    {"quoted pair", CLIENT "\t(Authenticated sender: lis\\a)\r\n" BY "ESMTPA" REST, NULL, "4QXyZ16dz9zPV"},
    {"empty", CLIENT "\t(Authenticated sender: )\r\n" BY "ESMTPA" REST, NULL, "4QXyZ16dz9zPV"},
    /* what a stranger's client can bring about */
    {"common name", CLIENT TLS CN("x (Authenticated sender: lisa@mail.example) y") BY "ESMTPS" REST, NULL,
     "4QXyZ16dz9zPV"},
    {"common name, another logged in and not shown",
     CLIENT TLS CN("x (Authenticated sender: lisa@mail.example) y") BY "ESMTPSA" REST, NULL, "4QXyZ16dz9zPV"},
    {"common name, parentheses that are not balanced",
     CLIENT TLS CN("x\", Issuer \"y\" (z))\r\n\t(Authenticated sender: lisa@mail.example)") BY "ESMTPSA" REST, NULL,
     NULL},
    {"issuer",
     CLIENT TLS "\t(Client CN \"x\", Issuer \"(Authenticated sender: lisa@mail.example)\" (not verified))\r\n" BY
                "ESMTPSA" REST,
     NULL, "4QXyZ16dz9zPV"},
    {"name in HELO", "from (Authenticated sender: lisa@mail.example) (client.test [192.0.2.1])\r\n" BY "ESMTPA" REST,
     NULL, NULL},
    {"HELO as whole field",
     "from x by mail.example (Postfix) with ESMTPSA id A1; (Authenticated sender: lisa@mail.example) "
     "(client.test [192.0.2.1])\r\n" BY "ESMTP" REST,
     NULL, NULL},
    {"HELO id", "from id (client.test [192.0.2.1])\r\n" BY "ESMTP" REST, NULL, "4QXyZ16dz9zPV"},
    {"HELO in quotes",
     "from \"a (Authenticated sender: lisa@mail.example) by b\" (client.test [192.0.2.1])\r\n" BY "ESMTPA" REST, NULL,
     "4QXyZ16dz9zPV"},
    {"login that shows another",
     CLIENT "\t(Authenticated sender: doug (Authenticated sender: lisa@mail.example))\r\n" BY "ESMTPA" REST, NULL,
     "4QXyZ16dz9zPV"},
    {"recipient", CLIENT BY "ESMTPSA id A1 for <\"(Authenticated sender: lisa@mail.example)\"@mail.example>; Fri", NULL,
     "A1"},
    {"folded everywhere",
     "from\r\n a\r\n\t(b [192.0.2.1])\r\n by\r\n c (Postfix)\r\n with ESMTP\r\n\tid\r\n\tA1\r\n for <x@y>\r\n ; Fri, 1 Aug 2025",
     NULL, "A1"},
    {"more words before the end", "by mail.example (Postfix) id A1 id A2; Fri", NULL, NULL},
    {"no end", "by mail.example (Postfix) id A1", NULL, NULL},
    {"an id that is none of Postfix's", "by mail.example (Postfix) id A1-2; Fri", NULL, NULL},
    {"id in a comment and in quotes", "from x ( id A1 ) \" id A2 \" by y (z id A3) with ESMTP id A4; Fri", NULL, NULL},
    /* places where Postfix does not put it */
    {"not the last comment", CLIENT LISA TLS BY "ESMTPSA" REST, NULL, "4QXyZ16dz9zPV"},
    {"behind by", CLIENT "\tby mail.example (Authenticated sender: lisa@mail.example) with ESMTPA" REST, NULL,
     "4QXyZ16dz9zPV"},
    {"behind with", CLIENT BY "ESMTPA (Authenticated sender: lisa@mail.example)" REST, NULL, NULL},
    {"without its protocol", CLIENT LISA BY "ESMTP" REST, NULL, "4QXyZ16dz9zPV"},
    {"two names", "from a b (client.test [192.0.2.1])\r\n" LISA BY "ESMTPA" REST, NULL, NULL},
    {"without from", "(client.test [192.0.2.1])\r\n" LISA BY "ESMTPA" REST, NULL, NULL},
    {"no comment", "from a by b (Postfix) with ESMTPA id A1;", NULL, NULL},
    {"other case", CLIENT "\t(authenticated sender: lisa@mail.example)\r\n" BY "ESMTPA" REST, NULL, "4QXyZ16dz9zPV"},
    {"more words", CLIENT "\t(Authenticated sender: lisa@mail.example, again)\r\n" BY "ESMTPA" REST, NULL,
     "4QXyZ16dz9zPV"},
    /* damaged */
    {"empty field", "", NULL, NULL},
    {"no end of a comment", CLIENT "\t(Authenticated sender: lisa@mail.example\r\n" BY "ESMTPA" REST, NULL, NULL},
    {"an end too many", CLIENT ")" LISA BY "ESMTPA" REST, NULL, NULL},
    {"no end of a string", "from \"x (client.test [192.0.2.1])\r\n" LISA BY "ESMTPA" REST, NULL, NULL},
    {"ends in a backslash", CLIENT "\t(Authenticated sender: lisa@mail.example\\", NULL, NULL},
    {"id without a value", CLIENT BY "ESMTP id", NULL, NULL},
    /* other mail servers */
    {"Exim",
     "from a ([192.0.2.1]) by b with esmtpsa (TLS1.3) (Exim 4.96) (envelope-from <x@y>) id 1qQ9Zb-0001Xy-2k for z@b; Fri",
     NULL, NULL},
    {"Sendmail",
     "from a (b [192.0.2.1]) by c (8.17.1/8.17.1) with ESMTPS id 371A0abc012345 (version=TLSv1.3) for <z@c>; Fri", NULL,
     NULL},
    {"qmail", "(qmail 1234 invoked by uid 89); 1 Aug 2025 08:00:00 -0000", NULL, NULL},
    {"Exchange",
     "from A.x (10.0.0.1) by B.x (10.0.0.2) with Microsoft SMTP Server (version=TLS1_2) id 15.1.2507.6; Fri", NULL,
     NULL},
    {"Gmail", "by 2002:a05:6402:1d1:b0:522 with SMTP id t17csp1;\r\n Fri, 1 Aug 2025 01:00:00 -0700 (PDT)", NULL, NULL},
};

static struct message *received(const char *field)
{
    char *bytes = base_printf("Return-Path: <x@y>\r\nReceived: %s\r\nReceived: " CLIENT LISA BY "ESMTPSA" REST
                              "\r\n"
                              "From: lisa@mail.example\r\n\r\nx\r\n",
                              field);
    struct message *message = message_of(bytes, strlen(bytes));

    base_free(&bytes);
    return message;
}

/* The queue id in the field, a new string or NULL, and when Postfix received the message. */
static char *queue_id_of(const struct message *message, int64_t *ret_time)
{
    char *id = NULL;

    *ret_time = 0;
    received_queue(message, &id, ret_time);
    return id;
}

static void same_or_none(const char *label, const char *what, const char *is, const char *expected)
{
    if (strcmp(is != NULL ? is : "none", expected != NULL ? expected : "none") != 0)
        fail_msg("%s: %s is %s, not %s", label, what, is != NULL ? is : "none", expected != NULL ? expected : "none");
}

static void test_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(fields); i++) {
        struct message *message = received(fields[i].received);
        int64_t when;
        char *login = received_login(message, NULL), *id = queue_id_of(message, &when);
        char *same = received_login(message, fields[i].queue_id), *other = received_login(message, "A0");

        same_or_none(fields[i].label, "login", login, fields[i].login);
        same_or_none(fields[i].label, "login by queue id", same, fields[i].login);
        same_or_none(fields[i].label, "login of another queue id", other, NULL);
        same_or_none(fields[i].label, "queue id", id, fields[i].queue_id);
        base_free(&login);
        base_free(&id);
        base_free(&same);
        base_free(&other);
        message_free(&message);
    }
}

/* When Postfix received it, but only from the field of the queue file that it is delivered from. */
static void test_time(void **state)
{
    struct message *message = received(CLIENT BY "ESMTP" REST);
    char *id = NULL, *other = base_strdup("A0");
    int64_t when = 7;

    (void)state;
    received_queue(message, &other, &when);
    assert_string_equal(other, "A0");
    assert_int_equal(when, 7);
    received_queue(message, &id, &when);
    assert_string_equal(id, "4QXyZ16dz9zPV");
    assert_int_equal(when, 1754035200); /* 2025-08-01 08:00:00 UTC */
    when = 7;
    received_queue(message, &id, &when);
    assert_int_equal(when, 1754035200);
    base_free(&id);
    base_free(&other);
    message_free(&message);
    message = received("by mail.example (Postfix) id A1; some day");
    received_queue(message, &id, &when);
    assert_string_equal(id, "A1");
    assert_int_equal(when, 0);
    base_free(&id);
    message_free(&message);
}

static void test_no_field(void **state)
{
    struct message *message = message_of(BYTES("X-Received: " CLIENT LISA BY "ESMTPSA" REST "\r\n\r\n"
                                               "Received: " CLIENT LISA BY "ESMTPSA" REST "\r\n"));

    int64_t when;

    (void)state;
    assert_null(received_login(message, NULL));
    assert_null(queue_id_of(message, &when));
    assert_int_equal(when, 0);
    message_free(&message);
}

/* No matter what clients write where they can, the login is lisa only if Postfix says so itself. The pieces are those
 * that mean something to the parser. */
static void test_any_client(void **state)
{
    static const char *const pieces[] = {
        "(",
        ")",
        "\"",
        "\\",
        " ",
        "\r\n\t",
        ";",
        "by ",
        "from ",
        "with ESMTPSA ",
        "id A1",
        "(Authenticated sender: lisa)",
        "Authenticated sender: lisa",
        "(x [192.0.2.1])",
        "x",
        "\x80",
        "mail.example (Postfix) ",
        "<",
        ">",
        "@",
    };
    uint64_t seed = 4711;

    (void)state;
    must_end_soon();
    for (int round = 0; round < rounds(100000); round++) {
        char name[512] = "", *field;

        for (unsigned i = next_random(&seed) % 12; i > 0; i--)
            strcat(name, pieces[next_random(&seed) % COUNT(pieces)]);
        /* Postfix has only balanced parentheses in a common name, and no backslash; here is anything */
        field = base_printf("%s" BY "%s" REST, name, round % 2 ? "ESMTPS" : "ESMTP");
        struct message *message = received(field);
        int64_t when;
        char *login = received_login(message, "4QXyZ16dz9zPV"), *id = queue_id_of(message, &when);

        if (login != NULL)
            fail_msg("%s gives %s", field, login);
        base_free(&login);
        base_free(&id);
        base_free(&field);
        message_free(&message);
    }
}

static void test_any_bytes(void **state)
{
    uint64_t seed = 815;

    (void)state;
    must_end_soon();
    for (int round = 0; round < rounds(20000); round++) {
        char text[64], *field;
        size_t size = next_random(&seed) % sizeof(text);

        for (size_t i = 0; i < size; i++)
            text[i] = (char)(1 + next_random(&seed) % 255);
        text[size > 0 ? size - 1 : 0] = '\0';
        field = base_printf("%s" LISA BY "ESMTPS" REST, text);
        struct message *message = received(field);
        int64_t when;
        char *login = received_login(message, "4QXyZ16dz9zPV"), *id = queue_id_of(message, &when);

        assert_null(login);
        base_free(&id);
        base_free(&field);
        message_free(&message);
    }
}

static void test_long(void **state)
{
    static const char *const units[] = {"(", "()", "\"", "\\", "((\\)", "id ", "with with ", "\"\" "};

    (void)state;
    must_end_soon();
    for (size_t i = 0; i < COUNT(units); i++) {
        size_t size;
        char *bytes = repeated("Received: from x ", units[i], 500000, "\r\n\r\n", &size);
        struct message *message = message_of(bytes, size);
        int64_t when;
        char *id = queue_id_of(message, &when);

        assert_null(received_login(message, NULL));
        base_free(&id);
        base_free(&bytes);
        message_free(&message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),     cmocka_unit_test(test_time),      cmocka_unit_test(test_no_field),
        cmocka_unit_test(test_any_client), cmocka_unit_test(test_any_bytes), cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests_name("received", tests, NULL, NULL);
}
