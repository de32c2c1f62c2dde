/* SPDX-License-Identifier: ISC
 *
 * Which character sets are converted, and that no other reaches the C library, no matter what a message says. */
#include "message_fixture.h"

#include <errno.h>
#include <glib.h>

#include "decode/decode_internal.h"

static void test_names(void **state)
{
    /* clang-format off */
    static const char *const cases[][2] = {
        {"utf-8", "UTF-8"}, {"UTF8", "UTF-8"}, {"utf_8", "UTF-8"}, {"ISO_8859-1:1987", "CP1252"},
        {"iso-8859-15", "ISO-8859-15"}, {"KS_C_5601-1987", "CP949"}, {"x-sjis", "CP932"}, {"gb2312", "GB18030"},
        {"iso-2022-jp", "ISO-2022-JP"}, {"tis-620", "CP874"}, {"windows-1258", "CP1258"},
        {"", NULL}, {"x", NULL}, {"nonsense", NULL}, {"utf-8//TRANSLIT", NULL}, {"//", NULL}, {"../utf-8", NULL},
        {"utf-8\xff", NULL}, {"iso-2022-cn-ext", NULL}, {"iso-2022-cn", NULL}, {"iso-2022-kr", NULL},
        {"iso-2022-jp-3", NULL}, {"utf-7", NULL}, {"ibm037", NULL}, {"tscii", NULL}, {"ucs-4", NULL}, {"euc-tw", NULL},
        {"utf-8aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = decode_charset(cases[i][0]);

        if (g_strcmp0(name, cases[i][1]) != 0)
            fail_msg("%s: %s", cases[i][0], name != NULL ? name : "none");
    }
}

static char **charset_names(void)
{
    gchar *list = NULL, **names;

    assert_true(g_spawn_command_line_sync("iconv -l", &list, NULL, NULL, NULL));
    g_strdelimit(list, "/\n,", ' ');
    names = g_strsplit(list, " ", -1);
    g_free(list);
    assert_true(g_strv_length(names) > 1000);
    return names;
}

static void decode_text(const char *text)
{
    struct message *message = message_of(text, strlen(text));
    struct decoded *decoded = decode_message(message, RECORD_TEXT, NULL, NULL);

    decoded_free(&decoded);
    message_free(&message);
}

/* Every way in which a name reaches gmime, with text that ends within a sequence; the last two assemble it from
 * pieces. */
static void test_every_charset(void **state)
{
    static const char *const bytes[] = {"=0E",    "x=0E", "=1B", "=1B=24", "=1B=24=29A=0E", "=1B$)A=0E", "=FF",
                                        "=80=81", "=A4",  "=2B", "=8E=A2", "=0E=0E=0F",     "=E3=81"};
    char **names = charset_names();

    (void)state;
    for (char **name = names; *name != NULL; name++) {
        for (size_t i = 0; **name && (name - names) % 10 < rounds(10) && i < COUNT(bytes); i++) {
            char *percent OD_CLEANUP(base_free) = g_strdelimit(g_strdup(bytes[i]), "=", '%');
            char *text OD_CLEANUP(base_free) = base_printf(
                "Subject: =?%1$s?q?%2$s?=\nFrom: =?%1$s?q?%2$s?= <a@b>\nTo: \"=\\?%1$s?q?%2$s?=\" <a@b>\n"
                "Cc: =?%1$s?q?%2$s?=: a@b;\nBcc: a@b (=?%1$s?q?%2$s?=)\n"
                "Content-Type: text/plain; charset=%1$s; name*=%1$s''%3$s\n"
                "Content-Disposition: attachment; filename*0=\"=?%1$.2s\"; filename*1=\"%4$s?q?%2$s?=\"\n"
                "Content-Transfer-Encoding: quoted-printable\n\n%2$s",
                *name, bytes[i], percent, strlen(*name) > 2 ? *name + 2 : "");

            decode_text(text);
        }
    }
    g_strfreev(names);
}

static void test_guard(void **state)
{
    iconv_t converter;

    (void)state;
    decode_charset_guard();
    errno = 0;
    assert_true(iconv_open("UTF-8", "ISO-2022-CN-EXT") == (iconv_t)-1);
    assert_int_equal(errno, EINVAL);
    assert_true(iconv_open("UTF-8", "UTF-8//IGNORE") == (iconv_t)-1);
    assert_true(iconv_open("UTF-16", "UTF-8") == (iconv_t)-1);
    converter = iconv_open("utf8", "ks_c_5601-1987");
    assert_true(converter != (iconv_t)-1);
    iconv_close(converter);
}

/* All pairs of bytes, alone and after a change of state. gmime's loop skips a byte when a conversion fails, and never
 * ends if there was none left. */
static void test_nothing_fails_with_nothing_left(void **state)
{
    static const char *const names[] = {
        "utf-8", "utf-16",     "utf-16be", "koi8-r", "cp1255",      "cp1258", "gb18030",
        "big5",  "big5-hkscs", "euc-jp",   "cp932",  "iso-2022-jp", "cp949",
    };
    static const char *const before[] = {"", "\x1b$B", "\x1b$", "\x1b(J", "\x0e", "\x88", "\x81\x30\x81"};

    (void)state;
    decode_charset_guard();
    for (size_t i = 0; i < COUNT(names) * COUNT(before); i++) {
        iconv_t converter = iconv_open("UTF-8", names[i / COUNT(before)]);

        assert_true(converter != (iconv_t)-1);
        for (unsigned pair = 0; pair < 65536; pair += pair < 0x8000 ? 7 : 1) {
            char bytes[8], out[64], *from = bytes, *to = out;
            size_t left = strlen(before[i % COUNT(before)]), room = sizeof(out);

            memcpy(bytes, before[i % COUNT(before)], left);
            bytes[left++] = (char)(pair >> 8);
            bytes[left++] = (char)pair;
            while (iconv(converter, &from, &left, &to, &room) == (size_t)-1) {
                if (left == 0)
                    fail_msg("%s %zu %x", names[i / COUNT(before)], i % COUNT(before), pair);
                from++, left--;
            }
            (void)iconv(converter, NULL, NULL, NULL, NULL);
        }
        iconv_close(converter);
    }
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_every_charset),
        cmocka_unit_test(test_guard),
        cmocka_unit_test(test_nothing_fails_with_nothing_left),
    };
    return cmocka_run_group_tests_name("decode_charset", tests, NULL, NULL);
}
