/* SPDX-License-Identifier: ISC
 *
 * The content digest: what of a message counts, in chunks of every size. */
#include "message_fixture.h"

#include <glib.h>

#include "message/message_digest.h"

static const char *const ignore[] = {"X-Mine", "X-Any-*", NULL};

/* The digest of `bytes` is SHA-256 of `counts`. */
static const struct {
    const char *label;
    const char *bytes;
    const char *counts;
} cases[] = {
    {"plain", "Subject: x\r\n\r\nbody\r\n", "Subject: x\r\n\r\nbody\r\n"},
    {"Return-Path", "Return-Path: <a@b>\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"Received", "A: b\r\nReceived: from x\r\n\r\n", "A: b\r\n\r\n"},
    {"Delivered-To", "Delivered-To: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"X-Original-To", "X-Original-To: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"Envelope-To", "Envelope-To: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"Authentication-Results", "Authentication-Results: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"Received-SPF", "Received-SPF: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"ARC", "ARC-Seal: a\r\nARC-: b\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"X-Spam", "X-Spam-Status: a\r\nX-Rspamd-Score: a\r\nX-Virus-Scanned: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"ignored", "X-Mine: a\r\nx-any-thing: a\r\nX-Any: a\r\nX-Mine2: a\r\n\r\n", "X-Any: a\r\nX-Mine2: a\r\n\r\n"},
    {"case", "RECEIVED: a\r\nreturn-path: a\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"similar names", "Received2: a\r\nXReceived: a\r\nReceive: a\r\nARC: a\r\n\r\n",
     "Received2: a\r\nXReceived: a\r\nReceive: a\r\nARC: a\r\n\r\n"},
    {"continuation lines", "Received: a\r\n b\r\n\tc\r\n \r\nA: b\r\n c\r\n\r\n", "A: b\r\n c\r\n\r\n"},
    {"continuation of what stays", "A: b\r\n Received: c\r\nReceived: d\r\n\r\n", "A: b\r\n Received: c\r\n\r\n"},
    {"continuation first", " Received: c\r\nReceived: d\r\n\r\n", " Received: c\r\n\r\n"},
    {"blanks before the colon", "Received \t: a\r\nA : b\r\n\r\n", "A : b\r\n\r\n"},
    {"blank in the name", "Received x: a\r\nARC-a b: c\r\n\r\n", "Received x: a\r\nARC-a b: c\r\n\r\n"},
    {"no colon", "Received\r\nReceived: a\r\n\r\n", "Received\r\n\r\n"},
    {"continuation of no field", "Received: a\r\nnonsense\r\n b\r\n\r\n", "nonsense\r\n b\r\n\r\n"},
    {"colon first", ": a\r\nReceived: a\r\n\r\n", ": a\r\n\r\n"},
    {"body", "A: b\r\n\r\nReceived: a\r\n\r\nReceived: b\r\n", "A: b\r\n\r\nReceived: a\r\n\r\nReceived: b\r\n"},
    {"no header", "\r\nReceived: a\r\n", "\r\nReceived: a\r\n"},
    {"no empty line", "Received: a\r\nA: b\r\nReceived: a", "A: b\r\n"},
    {"name cut by the end", "A: b\r\nReceived", "A: b\r\nReceived"},
    {"bare CR in a name", "Recei\rved: a\r\n\r\n", "Recei\rved: a\r\n\r\n"},
    {"bare CR first", "\rReceived: a\r\n\r\n", "\rReceived: a\r\n\r\n"},
    {"bare CR in a value", "Received: a\rA: b\r\nB: c\r\n\r\n", "B: c\r\n\r\n"},
    {"bare CR in the body", "\r\na\rb\r\n", "\r\na\rb\r\n"},
    {"CR CR LF", "A: b\r\r\n\r\na\r\r\r\nb\r\n", "A: b\r\n\r\na\r\nb\r\n"},
    {"CR CR LF as empty line", "A: b\r\n\r\r\nReceived: a\r\n", "A: b\r\n\r\nReceived: a\r\n"},
    {"CR at the end", "\r\na\r\r", "\r\na"},
    {"CR after a CRLF", "\r\na\r\n\r\rb\r\n", "\r\na\r\n\r\rb\r\n"},
    {"bare LF", "Received: a\nA: b\n\nReceived: c\n", "A: b\n\nReceived: c\n"},
};

static void sha256(const void *bytes, size_t size, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    gsize length = MESSAGE_DIGEST_SIZE;

    g_checksum_update(checksum, bytes, (gssize)size);
    g_checksum_get_digest(checksum, ret, &length);
    g_checksum_free(checksum);
}

/* Returns how many bytes counted. */
static size_t digest_of(const char *bytes, size_t size, size_t chunk, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    struct message_digest *digest = message_digest_new(ignore);

    for (size_t at = 0; at < size; at += chunk)
        message_digest_feed(digest, (const unsigned char *)bytes + at, size - at < chunk ? size - at : chunk);
    message_digest_end(digest, ret);
    size_t counted = message_digest_size(digest);
    message_digest_free(&digest);
    assert_null(digest);
    return counted;
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned char expected[MESSAGE_DIGEST_SIZE], digest[MESSAGE_DIGEST_SIZE];
        size_t size = strlen(cases[i].bytes);

        sha256(cases[i].counts, strlen(cases[i].counts), expected);
        for (size_t chunk = 1; chunk <= size + 1; chunk++) {
            size_t counted = digest_of(cases[i].bytes, size, chunk, digest);
            if (memcmp(digest, expected, sizeof digest) != 0 || counted != strlen(cases[i].counts))
                fail_msg("%s, chunks of %zu: another digest, or another size", cases[i].label, chunk);
        }
    }
}

static void test_long_names(void **state)
{
    unsigned char expected[MESSAGE_DIGEST_SIZE], digest[MESSAGE_DIGEST_SIZE];
    size_t size;
    // a name of 127 bytes is left out, one that is longer than any we know is content
    OD_CLEANUP(base_free) char *known = repeated("X-Spam-", "a", 120, ": x\r\n\r\n", &size);

    (void)state;
    (void)digest_of(known, size, 7, digest);
    sha256("\r\n", 2, expected);
    assert_memory_equal(digest, expected, sizeof digest);

    OD_CLEANUP(base_free) char *unknown = repeated("X-Spam-", "a", 1000, ": x\r\n\r\n", &size);

    (void)digest_of(unknown, size, 7, digest);
    sha256(unknown, size, expected);
    assert_memory_equal(digest, expected, sizeof digest);
}

static void test_large_headers(void **state)
{
    size_t size;
    unsigned char expected[MESSAGE_DIGEST_SIZE], digest[MESSAGE_DIGEST_SIZE];
    OD_CLEANUP(base_free) char *fields = repeated("", "Received: x\r\n", 300000, "\r\nbody\r\n", &size);

    (void)state;
    sha256("\r\nbody\r\n", 8, expected);
    (void)digest_of(fields, size, 65536, digest);
    assert_memory_equal(digest, expected, sizeof digest);

    OD_CLEANUP(base_free) char *lines = repeated("Received: x\r\n", " y\r\n", 1000000, "\r\nbody\r\n", &size);

    (void)digest_of(lines, size, 65536, digest);
    assert_memory_equal(digest, expected, sizeof digest);

    OD_CLEANUP(base_free) char *carriages = repeated("", "\r", 4000000, "\n", &size);

    (void)digest_of(carriages, size, 65536, digest);
    sha256("\r\n", 2, expected);
    assert_memory_equal(digest, expected, sizeof digest);
}

/* The same message by another way, and what a server gives back of it. */
static void test_same_content(void **state)
{
    static const char one[] = "From x\nReturn-Path: <>\nReceived: by one\n\tat noon\nSubject: s\n\nbody\0\n";
    static const char fetched[] = "Delivered-To: y\r\nSubject: s\r\nReceived: by two\r\n\r\nbody\x80\r\n";
    static const char other[] = "Subject: s\r\n\r\nBody\x80\r\n";
    static const char mine[] = "X-Mine: 1\r\nSubject: s\r\n\r\nbody\x80\r\n";
    struct message *message = message_of(one, sizeof one - 1);

    (void)state;
    assert_true(message_same_content(message, fetched, sizeof fetched - 1, NULL));
    assert_false(message_same_content(message, other, sizeof other - 1, NULL));
    assert_false(message_same_content(message, fetched, sizeof fetched - 2, NULL));
    assert_false(message_same_content(message, "", 0, NULL));
    assert_false(message_same_content(message, mine, sizeof mine - 1, NULL));
    assert_true(message_same_content(message, mine, sizeof mine - 1, ignore));
    message_free(&message);
}

static void test_identity(void **state)
{
    unsigned char identity[MESSAGE_DIGEST_SIZE], expected[MESSAGE_DIGEST_SIZE];
    static const unsigned char high[MESSAGE_DIGEST_SIZE] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x55};
    static const unsigned char order[MESSAGE_DIGEST_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

    (void)state;
    message_identity("oncedrop", BYTES("a\0b@c"), identity);
    sha256(BYTES("oncedrop\0a\0b@c"), expected);
    assert_memory_equal(identity, expected, sizeof identity);
    assert_int_equal(message_lock_key(high), -2);
    assert_int_equal(message_lock_key(order), INT64_C(0x0102030405060708));

    // by `printf 'oncedrop\0a@b' | sha256sum`: other hosts and later versions must come to the same
    message_identity("oncedrop", BYTES("a@b"), identity);
    assert_int_equal(message_lock_key(identity), INT64_C(-5294376567594498112));
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_large_headers),
        cmocka_unit_test(test_same_content),
        cmocka_unit_test(test_identity),
    };
    return cmocka_run_group_tests_name("message_digest", tests, NULL, NULL);
}
