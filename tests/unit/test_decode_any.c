/* SPDX-License-Identifier: ISC
 *
 * decode.h promises that any bytes can be decoded: real messages whole, truncated and damaged, random ones, and those
 * made to use up all time or memory. To be run in the top directory, which has tests/corpus and perhaps
 * ../shared/corpus. */
#include "message_fixture.h"

#include <fcntl.h>
#include <glib.h>
#include <glob.h>
#include <sys/uio.h>

#include "decode/decoded.h"

static void check_text(const char *text, bool needed)
{
    if (needed)
        assert_non_null(text);
    if (text != NULL)
        assert_true(g_utf8_validate(text, -1, NULL));
}

static void check_header(const struct decoded *decoded)
{
    size_t n = 0;

    check_text(decoded->subject, false);
    check_text(decoded->from, false);
    check_text(decoded->in_reply_to, false);
    assert_true(decoded->has_date || decoded->date == 0);
    for (; decoded->references[n] != NULL; n++)
        check_text(decoded->references[n], true);
    assert_true(n <= 1000);
    assert_true(decoded->address_count <= 2000);
    for (size_t i = 0; i < decoded->address_count; i++) {
        check_text(decoded->addresses[i].role, true);
        check_text(decoded->addresses[i].address, true);
        check_text(decoded->addresses[i].group, false);
        check_text(decoded->addresses[i].name, false);
        assert_string_not_equal(decoded->addresses[i].address, "");
    }
}

static void check_parts(const struct decoded *decoded)
{
    assert_in_range(decoded->part_count, 1, 1000);
    for (size_t i = 0; i < decoded->part_count; i++) {
        const struct decoded_part *part = &decoded->parts[i];

        check_text(part->path, true);
        check_text(part->type, true);
        check_text(part->charset, false);
        check_text(part->disposition, false);
        check_text(part->filename, false);
        check_text(part->text, false);
        assert_true(part->size >= 0);
        assert_non_null(strchr(part->type, '/'));
        for (size_t other = 0; other < i && i < 20; other++)
            assert_string_not_equal(part->path, decoded->parts[other].path);
    }
}

/* Everything that a delivery does with the bytes of a message. */
static void check(const char *bytes, size_t size)
{
    struct message *message = NULL;
    struct error error = {.text = ""};
    struct decoded *decoded;
    size_t count, pieces_size;
    struct iovec *pieces;

    if (message_from_bytes(bytes, size, 0, &message, &error) != MESSAGE_OK)
        return;
    decoded = decode_message(message, RECORD_TEXT, NULL, NULL);
    check_header(decoded);
    check_parts(decoded);
    decoded_free(&decoded);
    assert_true(is_same(message_comparison_new(message, NULL), message->data, message->size));
    if (message->header_size <= 65536) /* of a larger one no id is read */
        assert_int_equal(is_same(message_comparison_new_id(message), message->data, message->header_size),
                         message->message_id != NULL);
    pieces = message_pieces(message, MESSAGE_NO_ENVELOPE, &count, &pieces_size);
    assert_true(pieces_size <= message->size);
    base_free(&pieces);
    message_free(&message);
}

static void check_damaged(const char *bytes, size_t size, uint64_t *seed)
{
    char *copy OD_CLEANUP(base_free) = base_alloc(size + 1);

    for (int round = 0; round < rounds(40); round++) {
        memcpy(copy, bytes, size);
        for (int i = 0; i < 1 << round % 8; i++)
            copy[next_random(seed) % size] = (char)next_random(seed);
        check(copy, size - next_random(seed) % (size / 2 + 1));
    }
}

static void test_corpus(void **state)
{
    glob_t files;
    uint64_t seed = 99;

    (void)state;
    if (glob("tests/corpus/*.msg", 0, NULL, &files) != 0)
        fail_msg("tests/corpus is not there: run it from the project's folder");
    int more = glob("../shared/corpus/*.msg", GLOB_APPEND, NULL, &files);
    assert_true(more == 0 || more == GLOB_NOMATCH);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *bytes OD_CLEANUP(base_free) = NULL;
        size_t size;

        assert_true(g_file_get_contents(files.gl_pathv[i], &bytes, &size, NULL));
        check(bytes, size);
        check_damaged(bytes, size, &seed);
    }
    globfree(&files);
}

static void test_random_bytes(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int round = 0; round < rounds(3000); round++) {
        char bytes[600];
        size_t size = next_random(&seed) % sizeof(bytes);

        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)next_random(&seed);
        check(bytes, size);
    }
}

/* Pieces of real syntax in random order get further than random bytes. */
static void test_random_syntax(void **state)
{
    /* clang-format off */
    static const char *const tokens[] = {
        "\n", "\n", "\n", "\n\n", "\r\n", "\r", " ", "\t", ":", ";", ",", "<", ">", "(", ")", "\"", "\\", "=", "@", "[",
        "]", "--b", "--b--", "--i", "boundary=b", "boundary=i", "a", "b@c", "=?utf-8?q?", "=?utf-8?b?", "?=", "\xff",
        "\xc3\xa9", "Subject: ", "From: ", "To: ", "Date: ", "Message-ID: ", "References: ", "Content-Type: ",
        "Content-Disposition: ", "Content-Transfer-Encoding: ", "Return-Path: ", "multipart/mixed;", "message/rfc822",
        "text/plain;", "charset=", "filename*0*=", "name=", "base64", "quoted-printable", "x-uuencode", "begin 644 x",
        "utf-16", "utf-7", "iso-2022-jp", "gb18030", "%C3", "1 Jan 2000 00:00:00", "-9999", "99999999999999999999",
    };
    /* clang-format on */
    uint64_t seed = 2;

    (void)state;
    for (int round = 0; round < rounds(10000); round++) {
        GString *bytes = g_string_new(round % 2 ? "Content-Type: multipart/mixed; boundary=b\n\n--b\n" : "");

        for (unsigned n = next_random(&seed) % 60; n > 0; n--)
            g_string_append(bytes, tokens[next_random(&seed) % COUNT(tokens)]);
        check(bytes->str, bytes->len);
        g_string_free(bytes, TRUE);
    }
}

/* Input that causes quadratic time, endless recursion or excessive memory in mail parsers. */
static void test_heavy(void **state)
{
    static const struct {
        const char *before, *unit;
        size_t count;
        const char *after;
    } inputs[] = {
        {"", "X: y\n", 300000, "\nbody"},
        {"", "a:\n", 1400000, "\nbody"},
        {"Subject: ", "=?a?q?x ", 131072, "\n\n"},
        {"Subject: ", "x\n ", 300000, "\n\n"},
        {"To: ", "a:", 500000, "\n\n"},
        {"To: \"", "a:", 500000, "\n\n"},
        {"To: ", "a b,", 262144, "\n\n"},
        {"To: ", "a@b,", 262144, "\n\n"},
        {"To: ", "(", 1000000, "\n\n"},
        {"To: ", "<", 1000000, "\n\n"},
        {"To: ", "\"", 1000001, "\n\n"},
        {"To: ", "=?a?q?x ", 131072, "\n\n"},
        {"From: \"", "=?a?q?x ", 131072, "\n\n"},
        {"Date: ", "1 ", 500000, "\n\n"},
        {"References: ", "<", 1000000, "\n\n"},
        {"References: ", "<>", 500000, "\n\n"},
        {"Message-ID: <", ">(", 500000, "\n\n"},
        {"Content-Type: a/b; ", "a=b;", 250000, "\n\n"},
        {"Content-Type: a/b; ", "a*1*=b;", 150000, "\n\n"},
        {"Content-Type: a/b; charset=", "a", 1000000, "\n\n"},
        {"Content-Type: multipart/mixed; boundary=b\n\n", "--b\n", 2000000, ""},
        {"Content-Type: multipart/mixed; boundary=b\n\n", "--b \n\n--bx\n", 500000, ""},
        {"Content-Type: multipart/mixed; boundary=b\n\n--b\n", "a:\n", 3000000, ""},
        {"Content-Type: multipart/mixed; boundary=b\n\n",
         "--b\nContent-Type: text/plain; x=\"=?a?q?x =?a?q?x =?a?q?x =?a?q?x =?a?q?x =?a?q?x =?a?q?x\"\n\nx\n", 2000,
         ""},
        {"", "Content-Type: message/rfc822\n\n", 100000, "text"},
        {"", "Content-Type: multipart/mixed; boundary=b\n\n--b\n", 100000, "\ntext"},
        {"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 ", "a", 4000000, ""},
        {"Content-Type: text/plain; charset=shift_jis\n\n", "\xff", 2000000, ""},
        {"Content-Type: text/plain; charset=iso-2022-jp\n\n", "\x1b$B", 1000000, ""},
        {"Content-Type: text/plain; charset=utf-7\n\n", "+", 2000000, ""},
        {"\n", "\r", 4000000, ""},
        {"\n", "\n", 4000000, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(inputs); i++) {
        size_t size;
        char *bytes OD_CLEANUP(base_free) = repeated(inputs[i].before, inputs[i].unit,
                                                     inputs[i].count / 10 * (size_t)rounds(10), inputs[i].after, &size);

        check(bytes, size);
    }
}

/* gmime 3.2.13 loops for ever when it encodes a parameter whose name is 70 or 72 bytes long. */
static void test_parameter_names(void **state)
{
    (void)state;
    for (size_t length = 20; length < 80; length++) {
        size_t size;
        char *type OD_CLEANUP(base_free) = repeated("Content-Type: multipart/mixed; boundary=b; ", "n", length,
                                                    "=\"a value that does not fit the line that the name is on, and"
                                                    " so would have to be split by an encoder into several\"\n",
                                                    &size);
        char *parts OD_CLEANUP(base_free) = base_printf("%s\n--b\n%s\nx\n--b--\n", type, type);

        check(parts, strlen(parts));
    }
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus), cmocka_unit_test(test_random_bytes),    cmocka_unit_test(test_random_syntax),
        cmocka_unit_test(test_heavy),  cmocka_unit_test(test_parameter_names),
    };
    return cmocka_run_group_tests_name("decode_any", tests, NULL, NULL);
}
