/* SPDX-License-Identifier: ISC
 *
 * message_eol_feed(): every case in chunks of every size. */
#include "message_fixture.h"

#include "message/message_internal.h"

static const struct {
    const char *label;
    const char *in;
    size_t in_size;
    const char *out;
    size_t out_size;
} cases[] = {
    {"nothing", BYTES(""), BYTES("")},
    {"LF", BYTES("a\nb\n\nc\n"), BYTES("a\r\nb\r\n\r\nc\r\n")},
    {"CRLF", BYTES("a\r\nb\r\n\r\nc\r\n"), BYTES("a\r\nb\r\n\r\nc\r\n")},
    {"mixed", BYTES("a\nb\r\nc\n"), BYTES("a\r\nb\r\nc\r\n")},
    {"no end", BYTES("a\nb"), BYTES("a\r\nb")},
    {"bare CR", BYTES("a\rb\r\rc"), BYTES("a\rb\r\rc")},
    {"CR at the end", BYTES("a\r"), BYTES("a\r")},
    {"CR CR LF", BYTES("a\r\r\nb"), BYTES("a\r\r\nb")},
    {"CR LF LF", BYTES("a\r\n\nb"), BYTES("a\r\n\r\nb")},
    {"LF CR", BYTES("a\n\rb\n"), BYTES("a\r\n\rb\r\n")},
    {"only LF", BYTES("\n\n"), BYTES("\r\n\r\n")},
    {"NUL", BYTES("\0a\0\0\nb\0"),
     BYTES("\x80"
           "a\x80\x80\r\nb\x80")},
    {"CR NUL LF", BYTES("a\r\0\n"), BYTES("a\r\x80\r\n")},
    {"From_", BYTES("From a@b Thu Jan  1 00:00:00 1970\nX: y\n"), BYTES("X: y\r\n")},
    {"From_ with CRLF", BYTES("From a\r\nX: y\r\n"), BYTES("X: y\r\n")},
    {"quoted From_", BYTES(">From a\nX: y\n"), BYTES("X: y\r\n")},
    {"From_ alone", BYTES("From a\n"), BYTES("")},
    {"From_ without end", BYTES("From a"), BYTES("")},
    {"From_ and NUL", BYTES("From a\0b\nc"), BYTES("c")},
    {"two From_", BYTES("From a\nFrom b\n"), BYTES("From b\r\n")},
    {"From_ and quoted From_", BYTES("From a\n>From b\n"), BYTES(">From b\r\n")},
    {"From_ and an empty line", BYTES("From a\n\nFrom b\n"), BYTES("\r\nFrom b\r\n")},
    {"From_ later", BYTES("X: y\nFrom a\n"), BYTES("X: y\r\nFrom a\r\n")},
    {"From_ after an empty line", BYTES("\nFrom a\n"), BYTES("\r\nFrom a\r\n")},
    {"From:", BYTES("From: a\n"), BYTES("From: a\r\n")},
    {">From:", BYTES(">From: a\n"), BYTES(">From: a\r\n")},
    {"From and a tab", BYTES("From\ta\n"), BYTES("From\ta\r\n")},
    {"FROM_", BYTES("FROM a\n"), BYTES("FROM a\r\n")},
    {">>From_", BYTES(">>From a\n"), BYTES(">>From a\r\n")},
    {"F", BYTES("F"), BYTES("F")},
    {">", BYTES(">"), BYTES(">")},
    {"Fro and a line end", BYTES("Fro\nm x"), BYTES("Fro\r\nm x")},
    {"Fr and NUL", BYTES("Fr\0m"), BYTES("Fr\x80m")},
    {">F", BYTES(">F"), BYTES(">F")},
    {"From without blank", BYTES("From"), BYTES("From")},
};

static size_t normalise(const char *in, size_t size, size_t chunk, unsigned char *out)
{
    struct message_eol eol = {0};
    size_t n = 0;

    for (size_t at = 0; at < size; at += chunk) {
        size_t part = size - at < chunk ? size - at : chunk;
        /* exactly the bytes and the room that are promised, so that the sanitizer sees what goes beyond */
        unsigned char *bytes OD_CLEANUP(base_free) = base_alloc(part);
        unsigned char *room OD_CLEANUP(base_free) = base_alloc(MESSAGE_EOL_ROOM(part));
        size_t got;

        memcpy(bytes, in + at, part);
        got = message_eol_feed(&eol, bytes, part, room);
        memcpy(out + n, room, got);
        n += got;
    }
    return n + message_eol_end(&eol, out + n);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t chunk = 1; chunk <= cases[i].in_size + 1; chunk++) {
            unsigned char out[256];
            size_t size = normalise(cases[i].in, cases[i].in_size, chunk, out);

            if (size != cases[i].out_size || memcmp(out, cases[i].out, size) != 0)
                fail_msg("%s, chunks of %zu: got %zu bytes \"%.*s\"", cases[i].label, chunk, size, (int)size, out);
        }
    }
}

/* A second pass does not change normalised bytes, except that another From_ line may have become the first. */
static void test_random(void **state)
{
    static const char alphabet[] = "\r\n\0ab";
    uint64_t seed = 4711;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        char in[40];
        unsigned char whole[100], chunked[100], again[100];
        size_t size = next_random(&seed) % sizeof(in), n;

        for (size_t i = 0; i < size; i++)
            in[i] = alphabet[next_random(&seed) % 5];
        n = normalise(in, size, sizeof(in), whole);
        assert_int_equal(normalise(in, size, 1 + next_random(&seed) % 7, chunked), n);
        assert_memory_equal(chunked, whole, n);
        assert_int_equal(normalise((const char *)whole, n, sizeof(whole), again), n);
        assert_memory_equal(again, whole, n);
        for (size_t i = 0; i < n; i++)
            assert_true(whole[i] != '\0' && (whole[i] != '\n' || (i > 0 && whole[i - 1] == '\r')));
    }
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests_name("message_eol", tests, NULL, NULL);
}
