/* SPDX-License-Identifier: ISC
 *
 * Encoded words as programs write them, in a subject, a name and a file's name. What is expected is what Python's email
 * package reads, where it reads them at all. */
#include "message_fixture.h"

#include "decode/decoded.h"

static const struct {
    const char *label, *encoded, *text;
} cases[] = {
    {"Greek, Python",
     "=?utf-8?b?zqDPgc6/z4PPhs6/z4HOrCDPhM61zrvOuc66zq4gzrPOuc6xIM+Ezrc=?=\n"
     " =?utf-8?b?zr0gzrHOvc6xzrrOsc6vzr3Ouc+Dzrcgz4TOv8+FIM6zz4HOsc+GzrXOr86/z4Ug?=\n"
     " =?utf-8?b?z4POsc+CLCDOvM6tz4HOv8+CIM60zrXPjc+EzrXPgc6/?=",
     "Προσφορά τελική για την ανακαίνιση του γραφείου σας, μέρος δεύτερο"},
    {"Greek, nodemailer",
     "=?UTF-8?B?zqDPgc6/z4PPhs6/z4HOrCDPhM61zrvOuc66zq4gzrPOuc6xIA==?= "
     "=?UTF-8?B?z4TOt869IM6xzr3Osc66zrHOr869zrnPg863IM+Ezr/PhSDOsw==?= "
     "=?UTF-8?B?z4HOsc+GzrXOr86/z4Ugz4POsc+CLCDOvM6tz4HOv8+CIM60zrU=?= "
     "=?UTF-8?B?z43PhM61z4HOvw==?=",
     "Προσφορά τελική για την ανακαίνιση του γραφείου σας, μέρος δεύτερο"},
    {"Russian, Python",
     "=?utf-8?b?0J7RgtGH0ZHRgiDQviDRgNCw0LHQvtGC0LUg0L7RgtC00LXQu9CwINC3?=\n"
     " =?utf-8?b?0LAg0L/QtdGA0LLRi9C5INC60LLQsNGA0YLQsNC7INGN0YLQvtCz0L4g0LPQvtC0?=\n"
     " =?utf-8?b?0LAg0Lgg0L/Qu9Cw0L3RiyDQvdCwINGB0LvQtdC00YPRjtGJ0LjQuQ==?=",
     "Отчёт о работе отдела за первый квартал этого года и планы на следующий"},
    {"Russian, nodemailer",
     "=?UTF-8?B?0J7RgtGH0ZHRgiDQviDRgNCw0LHQvtGC0LUg0L7RgtC00LXQuw==?= "
     "=?UTF-8?B?0LAg0LfQsCDQv9C10YDQstGL0Lkg0LrQstCw0YDRgtCw0Lsg0Y0=?= "
     "=?UTF-8?B?0YLQvtCz0L4g0LPQvtC00LAg0Lgg0L/Qu9Cw0L3RiyDQvdCwIA==?= "
     "=?UTF-8?B?0YHQu9C10LTRg9GO0YnQuNC5?=",
     "Отчёт о работе отдела за первый квартал этого года и планы на следующий"},
    {"Japanese, Python",
     "=?utf-8?b?5Lya6K2w44Gu6K2w5LqL6Yyy44Go5qyh5Zue44Gu5LqI5a6a44Gr44Gk?=\n"
     " =?utf-8?b?44GE44Gm44Gu44GK55+l44KJ44Gb44Gn44GZ44CC44GU56K66KqN44KS44GK6aGY?=\n"
     " =?utf-8?b?44GE44GE44Gf44GX44G+44GZ44CC?=",
     "会議の議事録と次回の予定についてのお知らせです。ご確認をお願いいたします。"},
    {"Japanese, nodemailer",
     "=?UTF-8?B?5Lya6K2w44Gu6K2w5LqL6Yyy44Go5qyh5Zue44Gu5LqI5a6a?= "
     "=?UTF-8?B?44Gr44Gk44GE44Gm44Gu44GK55+l44KJ44Gb44Gn44GZ44CC?= "
     "=?UTF-8?B?44GU56K66KqN44KS44GK6aGY44GE44GE44Gf44GX44G+44GZ?= "
     "=?UTF-8?B?44CC?=",
     "会議の議事録と次回の予定についてのお知らせです。ご確認をお願いいたします。"},
    {"Russian, koi8-r",
     "=?koi8-r?b?79Teo9QgzyDSwcLP1MUgz9TExczBINrBINDF0tfZyiDL18HS1MHMINzUz8fPIMfP?=\n"
     " =?koi8-r?b?xMEgySDQzMHO2SDOwSDTzMXE1cDdyco=?=",
     "Отчёт о работе отдела за первый квартал этого года и планы на следующий"},
    {"Russian, windows-1251",
     "=?windows-1251?B?zvL3uPIg7iDw4OHu8g==?=\n"
     " =?windows-1251?B?5SDu8uTl6+Ag5+Ag7w==?=\n"
     " =?windows-1251?B?5fDi++kg6uLg8PLg6w==?=\n"
     " =?windows-1251?B?IP3y7uPuIOPu5OAg6A==?=\n"
     " =?windows-1251?B?IO/r4O37IO3gIPHr5Q==?=\n"
     " =?windows-1251?B?5PP++ejp?=",
     "Отчёт о работе отдела за первый квартал этого года и планы на следующий"},
    {"Greek, iso-8859-7",
     "=?iso-8859-7?B?0PHv8/bv8dwg9A==?=\n"
     "\t=?iso-8859-7?B?5evp6t4g4+nhIA==?=\n"
     "\t=?iso-8859-7?B?9OftIOHt4erh3w==?=\n"
     "\t=?iso-8859-7?B?7enz5yD07/Ug4w==?=\n"
     "\t=?iso-8859-7?B?8eH25d/v9SDz4Q==?=\n"
     "\t=?iso-8859-7?B?8iwg7N3x7/Ig5A==?=\n"
     "\t=?iso-8859-7?B?5f305fHv?=",
     "Προσφορά τελική για την ανακαίνιση του γραφείου σας, μέρος δεύτερο"},
    {"Japanese, iso-2022-jp",
     "=?iso-2022-jp?b?GyRCMnE1RCRONUQ7dk8/JEg8ITJzJE5NPURqJEskRCQkJEYkTiQqQ04bKEI=?=\n"
     " =?iso-2022-jp?b?GyRCJGkkOyRHJDkhIyQ0M05HJyRyJCo0aiQkJCQkPyQ3JF4kOSEjGyhC?=",
     "会議の議事録と次回の予定についてのお知らせです。ご確認をお願いいたします。"},
    {"a character cut by words",
     "=?utf-8?B?5Lya6K2w44Gu6A==?=\n"
     " =?utf-8?B?rbDkuovpjLLjgQ==?=\n"
     " =?utf-8?B?qOasoeWbnuOBrg==?=\n"
     " =?utf-8?B?5LqI5a6a44Gr4w==?=\n"
     " =?utf-8?B?gaTjgYTjgabjgQ==?=\n"
     " =?utf-8?B?ruOBiuefpeOCiQ==?=\n"
     " =?utf-8?B?44Gb44Gn44GZ4w==?=\n"
     " =?utf-8?B?gILjgZTnorroqg==?=\n"
     " =?utf-8?B?jeOCkuOBiumhmA==?=\n"
     " =?utf-8?B?44GE44GE44Gf4w==?=\n"
     " =?utf-8?B?gZfjgb7jgZnjgA==?=\n"
     " =?utf-8?B?gg==?=",
     "会議の議事録と次回の予定についてのお知らせです。ご確認をお願いいたします。"},
    {"no padding",
     "=?utf-8?B?zqDPgc6/z4PPhs4?=\n"
     " =?utf-8?B?v8+Bzqwgz4TOtc4?=\n"
     " =?utf-8?B?u865zrrOriDOs84?=\n"
     " =?utf-8?B?uc6xIM+EzrfOvSA?=\n"
     " =?utf-8?B?zrHOvc6xzrrOsc4?=\n"
     " =?utf-8?B?r869zrnPg863IM8?=\n"
     " =?utf-8?B?hM6/z4UgzrPPgc4?=\n"
     " =?utf-8?B?sc+GzrXOr86/z4U?=\n"
     " =?utf-8?B?IM+DzrHPgiwgzrw?=\n"
     " =?utf-8?B?zq3Pgc6/z4IgzrQ?=\n"
     " =?utf-8?B?zrXPjc+EzrXPgc4?=\n"
     " =?utf-8?B?vw?=",
     "Προσφορά τελική για την ανακαίνιση του γραφείου σας, μέρος δεύτερο"},
    {"two character sets",
     "=?utf-8?B?zpM=?= "
     "=?utf-8?B?zrU=?= "
     "=?utf-8?B?zrk=?= "
     "=?utf-8?B?zrE=?= "
     "=?koi8-r?B?0NI=?= "
     "=?koi8-r?B?ydc=?= "
     "=?koi8-r?B?xdQ=?=",
     "Γειαпривет"},
    {"names of any case",
     "=?utf-8?b?QQ==?= "
     "=?UTF-8?B?Qg==?= "
     "=?Utf-8?b?Qw==?=",
     "ABC"},
    {"text between",
     "Re =?utf-8?B?QQ==?= "
     "and =?UTF-8?B?Qg==?=",
     "Re A and B"},
    {"Q between",
     "=?utf-8?B?QQ==?= "
     "=?utf-8?Q?=C3=A9?= "
     "=?UTF-8?B?Qg==?=",
     "AéB"},
    {"a file's name",
     "=?UTF-8?B?zqDPgc6/z4PPhs6/z4HOrCDPhA==?= "
     "=?UTF-8?B?zrXOu865zrrOri5wZGY=?=",
     "Προσφορά τελική.pdf"},
    {"padding in the middle", "=?utf-8?B?QQ==Qg==?=", "AB"},
    {"no blank between", "=?utf-8?B?QQ==?==?utf-8?B?Qg==?=", "AB"},
    {"a language", "=?utf-8*el?B?QQ==?= =?utf-8?B?Qg==?=", "AB"},
};

static void expect(const char *label, const char *what, const char *got, const char *expected)
{
    if (got == NULL || strcmp(got, expected) != 0)
        fail_msg("%s, %s: %s", label, what, got != NULL ? got : "none");
}

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *encoded = cases[i].encoded;
        char *bytes OD_CLEANUP(base_free) = base_printf(
            "Subject: %s\nTo: %s <a@b>\nCc: %s: c@d;\nContent-Disposition: attachment; filename=\"%s\"\n\nx\n", encoded,
            encoded, encoded, encoded);
        struct message *message = message_of(bytes, strlen(bytes));
        struct decoded *decoded = decode_message(message, RECORD_TEXT, NULL, NULL);

        assert_int_equal(decoded->address_count, 2);
        assert_int_equal(decoded->part_count, 1);
        expect(cases[i].label, "subject", decoded->subject, cases[i].text);
        expect(cases[i].label, "name", decoded->addresses[0].name, cases[i].text);
        expect(cases[i].label, "group", decoded->addresses[1].group, cases[i].text);
        expect(cases[i].label, "file", decoded->parts[0].filename, cases[i].text);
        decoded_free(&decoded);
        message_free(&message);
    }
}

/* Parameters: as a type's name, not quoted, in pieces (RFC 2231, 3). */
static void test_parameters(void **state)
{
    static const char *const headers[] = {
        "Content-Type: image/png; name=\"=?utf-8?B?QQ==?= =?utf-8?B?Qg==?=.png\"\n",
        "Content-Disposition: x;\n filename==?utf-8?B?QQ==?= =?utf-8?B?Qg==?=.png\n",
        "Content-Disposition: x;\n filename*0=\"=?utf-8?B?QQ==?=\";\n filename*1=\" =?utf-8?B?Qg==?=.png\"\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(headers); i++) {
        char *bytes OD_CLEANUP(base_free) = base_printf("%s\nx\n", headers[i]);
        struct message *message = message_of(bytes, strlen(bytes));
        struct decoded *decoded = decode_message(message, RECORD_TEXT, NULL, NULL);

        expect(headers[i], "file", decoded->parts[0].filename, "AB.png");
        decoded_free(&decoded);
        message_free(&message);
    }
}

/* What is not an encoded word is left unchanged. */
static void test_no_words(void **state)
{
    static const char *const texts[] = {"=?",     "=?utf-8?B?QQ==", "=?utf-8?B?QQ==?", "=?utf-8?BB?QQ==?=", "=?utf-8?B",
                                        "=?=?=?", "=?? ?B?QQ==?=",  "1 =? 2",          "=?utf-8?"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *bytes OD_CLEANUP(base_free) = base_printf("Subject: %s\n\n", texts[i]);
        struct message *message = message_of(bytes, strlen(bytes));
        struct decoded *decoded = decode_message(message, RECORD_ENVELOPE, NULL, NULL);

        expect(texts[i], "subject", decoded->subject, texts[i]);
        decoded_free(&decoded);
        message_free(&message);
    }
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_no_words),
    };
    return cmocka_run_group_tests_name("decode_words", tests, NULL, NULL);
}
