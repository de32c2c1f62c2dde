/* SPDX-License-Identifier: ISC
 *
 * The Message-ID: of a field value, of a header, and of any size. */
#include "message_fixture.h"

#include "message/message_field.h"
#include "message/message_internal.h"

static const struct {
    const char *label;
    const char *value;
    size_t size;
    const char *id; /* NULL: none */
    size_t id_size;
    bool folded;
} values[] = {
    {"plain", BYTES(" <a@b>"), BYTES("a@b"), false},
    {"no blank", BYTES("<a@b>"), BYTES("a@b"), false},
    {"blanks around", BYTES(" \t <a@b> \t "), BYTES("a@b"), false},
    {"two @", BYTES(" <a@b@c>"), BYTES("a@b@c"), false},
    {"no @", BYTES(" <abc>"), BYTES("abc"), false},
    {"text before", BYTES(" foo <abc@def>"), BYTES("abc@def"), false},
    {"text after", BYTES(" <abc@def> foo"), BYTES("abc@def"), false},
    {"comments around", BYTES(" (one) <a@b> (two)"), BYTES("a@b"), false},
    {"nested comment", BYTES("(a(b)c) <a@b> (d(e(f))g) "), BYTES("a@b"), false},
    {"brackets in comments", BYTES("(<x@y>) <a@b> (<z@z>)"), BYTES("a@b"), false},
    {"quoted pairs in comments", BYTES("(\\(<x>\\)) <a@b> (\\)>\\()"), BYTES("a@b"), false},
    {"quoted backslash", BYTES("(\\\\) <a@b> (\\\\)"), BYTES("a@b"), false},
    {"comment within", BYTES("<a(x>)@b>"), BYTES("a(x>)@b"), false},
    {"> within", BYTES("<a>b@c>"), BYTES("a>b@c"), false},
    {"< within", BYTES("<<a@b>>"), BYTES("<a@b>"), false},
    {"quotes", BYTES("<\"a b>\"@c>"), BYTES("\"a b>\"@c"), false},
    {"two ids", BYTES("<a@b> <c@d>"), BYTES("a@b> <c@d"), false},
    {"two ids and comments", BYTES("<a@b> (x) <c@d> (y>)"), BYTES("a@b> (x) <c@d"), false},
    {"comment between ends", BYTES("<a> (b>) c> (d)"), BYTES("a> (b>) c"), false},
    {"two >", BYTES("<a@b> >"), BYTES("a@b> "), false},
    {"text behind a comment", BYTES("<a@b> (c>) d"), BYTES("a@b> (c"), false},
    {"comment without end", BYTES("<a@b> (c>"), BYTES("a@b> (c"), false},
    {"comment without end or >", BYTES("<a@b> (c"), BYTES("a@b"), false},
    {"comment that ends in a quoted pair", BYTES("<a@b> (c\\"), BYTES("a@b"), false},
    {"comment's end alone", BYTES("<a@b> )"), BYTES("a@b"), false},
    {"blanks within", BYTES("< a@b >"), BYTES(" a@b "), false},
    {"any byte", BYTES("<\x80\xff\0\r\x01>"), BYTES("\x80\xff\0\r\x01"), false},
    {"upper case", BYTES("<A@B>"), BYTES("A@B"), false},
    {"folded before", BYTES("\r\n <a@b>"), BYTES("a@b"), false},
    {"folded after", BYTES(" <a@b>\r\n\t(x)\r\n "), BYTES("a@b"), false},
    {"folded within", BYTES(" <a\r\n @b>"), BYTES("a @b"), true},
    {"folded within, LF", BYTES(" <a\n\t@b\n >"), BYTES("a\t@b "), true},
    {"line end without blank", BYTES("<a\r\nb>"), NULL, 0, false},
    {"nothing", BYTES(""), NULL, 0, false},
    {"blanks", BYTES("  \r\n "), NULL, 0, false},
    {"no brackets", BYTES(" a@b"), NULL, 0, false},
    {"empty", BYTES(" <>"), NULL, 0, false},
    {"only blanks within", BYTES(" < \t\r\n >"), NULL, 0, false},
    {"no >", BYTES(" <a@b"), NULL, 0, false},
    {"no <", BYTES(" a@b>"), NULL, 0, false},
    {"wrong order", BYTES(" >a@b<"), NULL, 0, false},
    {"only in a comment", BYTES(" (<a@b>)"), NULL, 0, false},
    {"comment without end before", BYTES(" (x <a@b>"), NULL, 0, false},
};

/* From a copy of just the size, so that the sanitizer sees a byte too far. */
static void read_value(const char *value, size_t size, struct message *ret)
{
    static const char name[] = "Message-ID:";
    size_t length = sizeof(name) - 1;
    unsigned char *header OD_CLEANUP(base_free) = base_alloc(length + size);

    memcpy(header, name, length);
    memcpy(header + length, value, size);
    msgid_read(header, length + size, ret);
    ret->id_bytes = NULL;
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        struct message read = {0};

        read_value(values[i].value, values[i].size, &read);
        if ((read.message_id != NULL) != (values[i].id != NULL))
            fail_msg("%s: %s", values[i].label, read.message_id != NULL ? "an id" : "no id");
        if (read.message_id_length != values[i].id_size || read.message_id_folded != values[i].folded ||
            (values[i].id != NULL && memcmp(read.message_id, values[i].id, values[i].id_size) != 0))
            fail_msg("%s: got \"%s\"%s", values[i].label, read.message_id, read.message_id_folded ? ", folded" : "");
        if (values[i].id != NULL)
            assert_int_equal(read.message_id[read.message_id_length], '\0');
        base_free(&read.message_id);
    }
}

static const struct {
    const char *label;
    const char *bytes;
    const char *id;
    size_t count;
} headers[] = {
    {"one", "Message-ID: <a@b>\n\n", "a@b", 1},
    {"any case", "MESSAGE-id: <a@b>\n\n", "a@b", 1},
    {"blank before the colon", "Message-ID : <a@b>\n\n", "a@b", 1},
    {"the first of two", "X: y\nMessage-ID: <a@b>\nMessage-ID: <c@d>\n\n", "a@b", 2},
    {"the first damaged", "Message-ID: a\nMessage-ID: <c@d>\n\n", NULL, 2},
    {"the first empty", "Message-ID:\nMessage-ID: <c@d>\nMessage-ID: <c@d>\n\n", NULL, 3},
    {"none", "X: y\n\n", NULL, 0},
    {"in the body", "X: y\n\nMessage-ID: <a@b>\n", NULL, 0},
    {"without a header", "\nMessage-ID: <a@b>\n", NULL, 0},
    {"without a body", "Message-ID: <a@b>", "a@b", 1},
    {"folded", "Message-ID:\n <a@b>\n\n", "a@b", 1},
    {"in another field", "X: y\n Message-ID: <a@b>\n\n", NULL, 0},
    {"after nonsense", "nonsense\nMessage-ID: <a@b>\n\n", "a@b", 1},
    {"after From_", "From x\nMessage-ID: <a@b>\n\n", "a@b", 1},
    {"other names", "X-Message-ID: <a@b>\nMessage-IDs: <a@b>\nMessage: <a@b>\n\n", NULL, 0},
    {"NUL", "Message-ID: <a\x80@b>\n\n", "a\x80@b", 1},
};

static void test_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(headers); i++) {
        struct message *message = message_of(headers[i].bytes, strlen(headers[i].bytes));

        if (message->message_id_count != headers[i].count)
            fail_msg("%s: %zu fields", headers[i].label, message->message_id_count);
        if ((message->message_id != NULL) != (headers[i].id != NULL) ||
            (headers[i].id != NULL && strcmp(message->message_id, headers[i].id) != 0))
            fail_msg("%s: got %s", headers[i].label, message->message_id != NULL ? message->message_id : "none");
        assert_int_equal(message->message_id_length, headers[i].id != NULL ? strlen(headers[i].id) : 0);
        message_free(&message);
        assert_null(message);
    }
}

static void test_same_id(void **state)
{
    static const struct {
        const char *header;
        bool same;
    } replies[] = {
        {"Message-ID: <a@b>\r\n\r\n", true},
        {"message-id: (x) <a@b> (y)\r\n\r\n", true},
        {"Message-ID:\r\n <a@b>\r\n\r\n", true},
        {"Message-ID: <a@b>", true},
        {"Message-ID: <a@b>\n\n", true},
        {"Message-ID: <A@b>\r\n\r\n", false},
        {"Message-ID: <a@bc>\r\n\r\n", false},
        {"Message-ID: <a@>\r\n\r\n", false},
        {"Message-ID: a@b\r\n\r\n", false},
        {"\r\n", false},
        {"", false},
        {"Message-ID: <c@d>\r\nMessage-ID: <a@b>\r\n\r\n", false},
    };
    struct message *message = message_of(BYTES("Message-ID: <a@b>\n\n"));
    struct message *without = message_of(BYTES("Message-ID: <>\n\n"));

    (void)state;
    for (size_t i = 0; i < COUNT(replies); i++)
        if (is_same(message_comparison_new_id(message), replies[i].header, strlen(replies[i].header)) !=
            replies[i].same)
            fail_msg("not %s: %s", replies[i].same ? "the same" : "another", replies[i].header);
    assert_false(is_same(message_comparison_new_id(without), BYTES("Message-ID: <>\r\n\r\n")));
    assert_false(is_same(message_comparison_new_id(without), BYTES("\r\n")));
    message_free(&message);
    message_free(&without);
}

static void test_folded(void **state)
{
    struct message *message = message_of(BYTES("Message-ID: <a\r\n @b>\r\n\r\n"));

    (void)state;
    assert_string_equal(message->message_id, "a @b");
    assert_true(message->message_id_folded);
    message_free(&message);
}

static void test_linear(void **state)
{
    static const struct {
        const char *before, *unit, *after;
        bool found;
    } large[] = {
        {"<", "x", "@b>", true},      {"<", ">", "", true},       {"", "<", "", false},       {"", "(", "<a@b>", false},
        {"<a@b> ", "(", "", true},    {"<a@b>", "(>)", "", true}, {"<", "> (", "", true},     {"<a@b>", "\\", "", true},
        {"(", "\\", ") <a@b>", true}, {"<", "a\r\n ", ">", true}, {"<", "> (x) ", "y", true}, {"", "<>", "", true},
        {"", "\r\n ", "<a@b>", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(large); i++) {
        size_t size;
        char *value OD_CLEANUP(base_free) = repeated(large[i].before, large[i].unit, 1000000, large[i].after, &size);
        struct message read = {0};

        read_value(value, size, &read);
        if ((read.message_id != NULL) != large[i].found)
            fail_msg("%s%s...%s", large[i].before, large[i].unit, large[i].after);
        base_free(&read.message_id);
    }
}

static void test_long_id(void **state)
{
    size_t size;
    char *bytes OD_CLEANUP(base_free) = repeated("Message-ID: <", "x", 100000, "@b>\n\n", &size);
    struct message *message = message_of(bytes, size);

    (void)state;
    assert_int_equal(message->message_id_length, 100002);
    message_free(&message);
}

/* Of a longer id only the beginning is copied, but every byte of it counts. */
static void test_longest_id(void **state)
{
    static const size_t counts[] = {MESSAGE_ID_MAX - 1, MESSAGE_ID_MAX, MESSAGE_ID_MAX + 1, (size_t)4 << 20};

    (void)state;
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct message *messages[3];
        unsigned char identities[3][MESSAGE_DIGEST_SIZE], expected[MESSAGE_DIGEST_SIZE];
        size_t size;

        for (size_t k = 0; k < COUNT(messages); k++) {
            static const char *const ends[] = {"@b>\n\n", "@\n b>\n\n", "@c>\n\n"};
            char *bytes OD_CLEANUP(base_free) = repeated("Message-ID: <", "x", counts[i], ends[k], &size);

            messages[k] = message_of(bytes, size);
            assert_int_equal(messages[k]->message_id_length,
                             counts[i] < MESSAGE_ID_MAX - 2 - (k == 1) ? counts[i] + 2 + (k == 1) : MESSAGE_ID_MAX);
            message_own_identity(messages[k], "oncedrop", identities[k]);
        }
        char *id OD_CLEANUP(base_free) = repeated("", "x", counts[i], "@b", &size);

        message_identity("oncedrop", id, size, expected);
        assert_memory_equal(identities[0], expected, sizeof(expected));
        assert_memory_not_equal(identities[0], identities[1], sizeof(expected));
        assert_memory_not_equal(identities[0], identities[2], sizeof(expected));
        for (size_t k = 0; k < COUNT(messages); k++)
            message_free(&messages[k]);
    }
}

static void test_unfold(void **state)
{
    size_t length;
    char *text OD_CLEANUP(base_free) = message_field_unfold(BYTES("a\r\n b\n\tc\r\nd\r e\r\n"), &length);

    (void)state;
    assert_string_equal(text, "a b\tc\r\nd\r e\r\n");
    assert_int_equal(length, strlen(text));
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),     cmocka_unit_test(test_headers), cmocka_unit_test(test_same_id),
        cmocka_unit_test(test_folded),     cmocka_unit_test(test_linear),  cmocka_unit_test(test_long_id),
        cmocka_unit_test(test_longest_id), cmocka_unit_test(test_unfold),
    };
    return cmocka_run_group_tests_name("msgid", tests, NULL, NULL);
}
