/* SPDX-License-Identifier: ISC
 *
 * A message in doubt may have been changed by its server in known ways, and in no other. */
#include "message_fixture.h"

#include "message/message_internal.h"

enum { MUNGE = 1, DROP_BARE_CR = 2, ADD_LINE_END = 4, DROP_CR = 8, CHANGES = 16 };

/* The stored form of a message; out has room for two more bytes. */
static size_t stored(const char *bytes, size_t size, unsigned changes, char *out)
{
    size_t n = 0;
    bool in_header = true, line_is_empty = true;

    for (size_t i = 0; i < size; i++) {
        char byte = bytes[i];
        bool bare = byte == '\r' && (i + 1 == size || bytes[i + 1] != '\n');

        if (byte == '\n') {
            in_header &= !line_is_empty;
            line_is_empty = true;
        } else if (byte != '\r') {
            line_is_empty = false;
        }
        if (byte == '\r' && ((changes & DROP_CR) || ((changes & DROP_BARE_CR) && bare)))
            continue;
        out[n++] = (changes & MUNGE) && in_header && (byte & 0x80) ? 'X' : byte;
    }
    if (changes & ADD_LINE_END) {
        out[n++] = '\r';
        out[n++] = '\n';
    }
    return n;
}

static enum message_likeness likeness(struct message_comparison *comparison, const void *bytes, size_t size,
                                      size_t step)
{
    for (size_t at = 0; at < size; at += step)
        message_comparison_feed(comparison, (const char *)bytes + at, size - at < step ? size - at : step);
    return message_comparison_end(comparison);
}

static const char original[] =
    "Received: from \xe4\r\nFrom: \xc3\xa4@b.example\r\nSubject: \xe4 X\r\n\r\n"
    "body \xe4\r\n\r\n.\rbare\r\n\r\nend";

static void test_each_change_alone_and_all_combined(void **state)
{
    struct message *message = message_of(BYTES(original));
    struct message_comparison *comparison = message_comparison_new(message, NULL);
    char copy[sizeof(original) + 2];

    (void)state;
    for (unsigned changes = 0; changes < CHANGES; changes++) {
        size_t size = stored(original, sizeof(original) - 1, changes, copy);

        for (size_t step = 1; step < 100; step += 7)
            if (likeness(comparison, copy, size, step) != (changes == 0 ? MESSAGE_SAME : MESSAGE_SIMILAR))
                fail_msg("changes %u in pieces of %zu", changes, step);
    }
    message_comparison_free(&comparison);
    message_free(&message);
}

static void test_other_messages(void **state)
{
    static const char *const others[] = {
        "",
        "Received: from \xe4\r\n",
        "From: \xc3\xa4@b.example\r\nSubject: \xe4 X\r\n\r\nbody \xe4\r\n\r\n.\rbare\r\n\r\nenD",
        "From: \xc3\xa4@b.example\r\nSubject: \xe4 X\r\n\r\nbody X\r\n\r\n.\rbare\r\n\r\nend",
        "From: \xc3\xa4@b.example\r\nSubject: \xf6 X\r\n\r\nbody \xe4\r\n\r\n.\rbare\r\n\r\nend",
        "From: \xc3\xa4@b.example\r\nSubject: X X\r\n\r\nbody \xe4\r\n\r\n.\rbare\r\n\r\nend",
        "From: XX@b.example\r\nSubject: X \xe4\r\n\r\nbody \xe4\r\n\r\n.\rbare\r\n\r\nend",
        "From: XX@b.example\r\nSubject: XX\r\n\r\nbody \xe4\r\n\r\n.\rbare\r\n\r\nend",
        "From: \xc3\xa4@b.example\r\nSubject: \xe4 X\r\n\r\nbody \xe4\r\n.\rbare\r\n\r\nend",
        "From: \xc3\xa4@b.example\r\nSubject: \xe4 X\r\n\r\nbody \xe4\r\n\r\n.\nbare\r\n\r\nend",
        "From: \xc3\xa4@b.example\r\nSubject: \xe4 X\r\n\r\nbody \xe4\r\n\r\n.\rbare\r\n\r\nend ",
        "From: \xc3\xa4@b.example\r\nSubject: \xe4 X\r\n\r\n\r\nbody \xe4\r\n\r\n.\rbare\r\n\r\nend",
        "From: \xc3\xa4@b.example\r\nSubject: \xe4 X\r\n\r\nbody \xe4\r\n\r\n.\rbare\r\n\r\n",
    };
    struct message *message = message_of(BYTES(original));
    struct message_comparison *comparison = message_comparison_new(message, NULL);

    (void)state;
    for (size_t i = 0; i < COUNT(others); i++)
        if (likeness(comparison, others[i], strlen(others[i]), 5) != MESSAGE_OTHER)
            fail_msg("%s", others[i]);
    message_comparison_free(&comparison);
    message_free(&message);
}

/* By any server, at any place: but not in the body. */
static void test_fields_of_the_store(void **state)
{
    static const char *const names[] = {"X-UID",  "Status",     "X-Status",      "X-Keywords",
                                        "X-IMAP", "X-IMAPbase", "Content-Length"};
    static const char *const ignore[] = {"X-Ours", NULL};
    struct message *message = message_of(BYTES("Status: RO\nSubject: x\n\nend\n"));
    struct message_comparison *comparison = message_comparison_new(message, ignore);

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char *added = base_printf("X-Ours: 1\r\nSubject: x\r\n%s: 1\r\n 2\r\n\r\nend\r\n", names[i]);
        char *body = base_printf("Subject: x\r\n\r\n%s: 1\r\nend\r\n", names[i]);
        assert_int_equal(likeness(comparison, added, strlen(added), 3), MESSAGE_SIMILAR);
        assert_int_equal(likeness(comparison, body, strlen(body), 3), MESSAGE_OTHER);
        free(added);
        free(body);
    }
    message_comparison_free(&comparison);
    message_free(&message);
}

/* A plain version of the rule: without CRs, without the newlines at the end, the header munged or not. */
static size_t reference(const char *bytes, size_t size, bool munge, char *out)
{
    size_t n = stored(bytes, size, munge ? DROP_CR | MUNGE : DROP_CR, out);

    while (n > 0 && out[n - 1] == '\n')
        n--;
    return n;
}

static bool same_digest(const struct message *message, const char *bytes, size_t size)
{
    struct message_digest *digest = message_digest_new(NULL);
    unsigned char other[MESSAGE_DIGEST_SIZE];

    message_digest_feed(digest, (const unsigned char *)bytes, size);
    message_digest_end(digest, other);
    message_digest_free(&digest);
    return memcmp(other, message->digest, sizeof(other)) == 0;
}

static void test_random_pairs(void **state)
{
    static const char letters[] =
        "\r\n\r\nX\xe4"
        "a:";
    uint64_t random = 1;
    unsigned seen[3] = {0};

    (void)state;
    for (int i = 0; i < rounds(50000); i++) {
        char one[8], two[8], form_one[10], form_two[10];
        size_t size_one = 1 + next_random(&random) % 7, size_two = next_random(&random) % 8;

        for (size_t k = 0; k < 8; k++) {
            one[k < size_one ? k : 7] = letters[next_random(&random) % 8];
            two[k] = next_random(&random) % 4 ? one[k < size_one ? k : 0] : letters[next_random(&random) % 8];
        }
        struct message *message = message_of(one, size_one);
        struct message_comparison *comparison = message_comparison_new(message, NULL);
        enum message_likeness found = likeness(comparison, two, size_two, 3), expected = MESSAGE_OTHER;
        size_t size = reference(two, size_two, false, form_two);

        for (int munge = 0; munge < 2; munge++)
            if (reference((const char *)message->data, message->size, munge, form_one) == size &&
                memcmp(form_one, form_two, size) == 0)
                expected = MESSAGE_SIMILAR;
        if (same_digest(message, two, size_two))
            expected = MESSAGE_SAME;
        assert_int_equal(found, expected);
        seen[found]++;
        message_comparison_free(&comparison);
        message_free(&message);
    }
    assert_true(seen[MESSAGE_OTHER] > 300 && seen[MESSAGE_SIMILAR] > 300 && seen[MESSAGE_SAME] > 300);
}

static void test_ids(void **state)
{
    struct message *message = message_of(BYTES("Message-ID: <a@b>\n\n"));
    struct message_comparison *comparison = message_comparison_new_id(message);
    size_t size;
    char *endless = repeated("Message-ID: <a@b>\r\n", " x\r\n", 20000, "\r\n", &size);

    (void)state;
    assert_int_equal(likeness(comparison, BYTES("Message-ID: <a@b>\r\n\r\n"), 4), MESSAGE_SAME);
    assert_int_equal(likeness(comparison, BYTES("Message-ID: <a@c>\r\n\r\n"), 4), MESSAGE_OTHER);
    assert_int_equal(likeness(comparison, endless, size, 1000), MESSAGE_SIMILAR);
    assert_int_equal(likeness(comparison, BYTES("Message-ID: <a@b>\r\n\r\n"), 100), MESSAGE_SAME);
    assert_int_equal(likeness(comparison, BYTES("Message-ID: damaged\r\n\r\n"), 4), MESSAGE_SIMILAR);
    assert_int_equal(likeness(comparison, BYTES("\r\n"), 4), MESSAGE_SIMILAR);
    assert_int_equal(likeness(comparison, "", 0, 1), MESSAGE_SIMILAR);
    assert_int_equal(likeness(comparison, BYTES("Message-ID: <cut@\r\n\r\n"), 4), MESSAGE_SIMILAR);
    free(endless);
    message_comparison_free(&comparison);
    message_free(&message);
}

/* Without the bytes, what a server has changed cannot be distinguished from another message. */
static void test_only_the_digest_is_known(void **state)
{
    struct message *message = message_of(BYTES(original)), *variant = message_of(BYTES("Subject: variant\r\n\r\n"));
    struct message known = {.data = NULL};
    unsigned char variants[1][MESSAGE_DIGEST_SIZE];

    (void)state;
    memcpy(known.digest, message->digest, MESSAGE_DIGEST_SIZE);
    memcpy(variants[0], variant->digest, MESSAGE_DIGEST_SIZE);
    struct message_comparison *comparison = message_comparison_new(&known, NULL);
    message_comparison_set_variants(comparison, (const unsigned char(*)[MESSAGE_DIGEST_SIZE])variants, 1);
    assert_int_equal(likeness(comparison, original, sizeof(original) - 1, 7), MESSAGE_SAME);
    assert_int_equal(likeness(comparison, variant->data, variant->size, 7), MESSAGE_OTHER);
    assert_false(message_comparison_unclear(comparison));
    assert_int_equal(likeness(comparison, BYTES("Subject: another\r\n\r\n"), 7), MESSAGE_OTHER);
    assert_int_equal(likeness(comparison, original, sizeof(original) - 1, 7), MESSAGE_SAME);
    assert_true(message_comparison_unclear(comparison));
    message_comparison_free(&comparison);
    message_free(&message);
    message_free(&variant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_change_alone_and_all_combined),
        cmocka_unit_test(test_other_messages),
        cmocka_unit_test(test_fields_of_the_store),
        cmocka_unit_test(test_random_pairs),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_only_the_digest_is_known),
    };

    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
