/* SPDX-License-Identifier: ISC
 *
 * decode_wire.c: its contents may be anything, but the result can be recorded. Without any one of the checks in
 * decode_wire.c a test here fails. */
#include "message_fixture.h"

#include <sys/mman.h>

#include "decode/decode_internal.h"

static const char letter[] =
    "From: =?utf-8?q?J=C3=BCrgen?= <juergen@EXAMPLE.net>\n"
    "To: Family: Lisa <lisa@example.org>, doug@example.org;, scuba@example.org\n"
    "Subject: =?utf-8?q?f=C3=BCr?=\n"
    "Date: Fri, 1 Aug 2025 10:00:00 +0200\n"
    "In-Reply-To: <parent@example.org>\n"
    "References: <root@example.org> <parent@example.org>\n"
    "Content-Type: multipart/mixed; boundary=b\n"
    "\n--b\n"
    "Content-Type: text/plain; charset=iso-8859-1\n"
    "\nGr\xfc\xdf\x65\n--b\n"
    "Content-Disposition: attachment; filename*=utf-8''R%C3%A4tsel\n"
    "Content-Transfer-Encoding: base64\n"
    "\nAAECAwQ=\n--b--\n";

/* In any case the result can be recorded. */
static void check_result(const struct decoded *decoded)
{
    assert_non_null(decoded);
    assert_non_null(decoded->references);
    assert_true(decoded->address_count <= DECODE_ADDRESSES_MAX);
    assert_true(decoded->part_count <= DECODE_PARTS_MAX);
    for (size_t i = 0; i < decoded->part_count; i++)
        assert_true(decoded->parts[i].path != NULL && decoded->parts[i].type != NULL);
    for (size_t i = 0; i < decoded->address_count; i++)
        assert_true(decoded->addresses[i].role != NULL && decoded->addresses[i].address != NULL);
}

/* What the reader makes of a wire. */
static bool read_wire(const struct decode_wire *wire, struct decoded **ret)
{
    bool right;

    *ret = decoded_new();
    right = decode_wire_read(wire, *ret);
    check_result(*ret);
    return right;
}

static struct decode_wire *new_wire(void)
{
    return mmap(NULL, sizeof(struct decode_wire), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
}

static void write_all(struct decode_writer *writer, const struct decoded *decoded)
{
    decode_wire_write(writer, decoded, DECODE_IDS);
    decode_wire_write(writer, decoded, DECODE_FROM);
    decode_wire_write(writer, decoded, DECODE_SUBJECT);
    if (decoded->address_count > 0)
        decode_wire_write(writer, decoded, DECODE_ADDRESSES);
    if (decoded->part_count > 0)
        decode_wire_write(writer, decoded, DECODE_PART);
    decode_wire_write(writer, decoded, DECODE_ALL);
}

#define T(text) ((char[]){text})

/* Values that must not get into the database, each among valid ones. */
static void test_untrusted(void **state)
{
    char bad[] = "\xff", cut[] = "\xe2\x82";
    char *long_text = g_strnfill(DECODE_TEXT_MAX + 1, 'x'), *long_path = g_strnfill(513, '1');
    char *good_references[] = {T("a@b"), NULL}, *bad_references[] = {T("a@b"), T("\xc0\x80"), NULL};
    struct decoded_address address = {.role = "to", .address = T("a@b")};
    struct decoded_part part = {.path = T("1"), .type = T("text/plain"), .text = T("x")};
    const struct {
        const char *label;
        struct decoded decoded;
        struct decoded_address address;
        struct decoded_part part;
        bool right;
    } cases[] = {
        {"right", {.subject = T("x")}, address, part, true},
        {"subject", {.subject = bad}, address, part, false},
        {"from", {.from = cut}, address, part, false},
        {"id", {.in_reply_to = bad}, address, part, false},
        {"references", {.references = bad_references}, address, part, false},
        {"early", {.has_date = true, .date = DECODE_DATE_MIN - 1}, address, part, false},
        {"late", {.has_date = true, .date = DECODE_DATE_MAX + 1}, address, part, false},
        {"no role", {0}, {.address = T("a@b")}, part, false},
        {"no such role", {0}, {.role = "fro", .address = T("a@b")}, part, false},
        {"no address", {0}, {.role = "from"}, part, false},
        {"name", {0}, {.role = "from", .address = T("a@b"), .name = bad}, part, false},
        {"group", {0}, {.role = "from", .address = T("a@b"), .group = bad}, part, false},
        {"no path", {0}, address, {.type = T("a/b")}, false},
        {"long path", {0}, address, {.path = long_path, .type = T("a/b")}, false},
        {"no type", {0}, address, {.path = T("1")}, false},
        {"size", {0}, address, {.path = T("1"), .type = T("a/b"), .size = -1}, false},
        {"text", {0}, address, {.path = T("1"), .type = T("a/b"), .text = bad}, false},
        {"long text", {0}, address, {.path = T("1"), .type = T("a/b"), .text = long_text}, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct decode_wire *wire = new_wire();
        struct decode_writer writer = {.wire = wire};
        struct decoded_address one = cases[i].address;
        struct decoded_part other = cases[i].part;
        struct decoded decoded = cases[i].decoded, *result;

        decoded.references = decoded.references != NULL ? decoded.references : good_references;
        decoded.addresses = &one;
        decoded.parts = &other;
        decoded.address_count = decoded.part_count = 1;
        write_all(&writer, &decoded);
        if (read_wire(wire, &result) != cases[i].right)
            fail_msg("%s", cases[i].label);
        assert_int_equal(result->part_count, cases[i].right ? 1 : 0);
        assert_true(!result->has_date || (result->date >= DECODE_DATE_MIN && result->date <= DECODE_DATE_MAX));
        decoded_free(&result);
        munmap(wire, sizeof(*wire));
    }
    g_free(long_text);
    g_free(long_path);
}

/* Counts, positions, and what the database accepts only once. */
static void test_numbers(void **state)
{
    struct decode_wire *wire = new_wire();
    struct decode_writer writer = {.wire = wire};
    char *references[] = {NULL};
    struct decoded decoded = {.references = references}, *result;
    struct decoded_address address = {.role = "cc", .position = 7, .address = T("a@b")};
    struct decoded_part part = {.path = T("1"), .type = T("a/b")};

    (void)state;
    decode_wire_write(&writer, &decoded, DECODE_IDS);
    decoded.addresses = g_new(struct decoded_address, DECODE_ADDRESSES_MAX + 1);
    for (; decoded.address_count <= DECODE_ADDRESSES_MAX; decoded.address_count++)
        decoded.addresses[decoded.address_count] = address;
    decoded.address_count = 2;
    decode_wire_write(&writer, &decoded, DECODE_ADDRESSES);
    decoded.parts = &part;
    decoded.part_count = 1;
    decode_wire_write(&writer, &decoded, DECODE_PART);
    decode_wire_write(&writer, &decoded, DECODE_PART); /* the same path */
    decode_wire_write(&writer, &decoded, DECODE_ALL);
    assert_false(read_wire(wire, &result));
    assert_int_equal(result->address_count, 2);
    assert_int_equal(result->addresses[1].position, 2); /* counted here */
    assert_int_equal(result->part_count, 1);
    decoded_free(&result);

    writer = (struct decode_writer){.wire = wire};
    decoded.address_count = DECODE_ADDRESSES_MAX + 1;
    decode_wire_write(&writer, &decoded, DECODE_IDS);
    decode_wire_write(&writer, &decoded, DECODE_ADDRESSES);
    assert_false(read_wire(wire, &result));
    assert_int_equal(result->address_count, 0);
    decoded_free(&result);

    writer = (struct decode_writer){.wire = wire};
    decode_wire_write(&writer, &decoded, DECODE_IDS);
    decode_wire_write(&writer, &decoded, DECODE_IDS); /* twice: memory of the first would be lost */
    decode_wire_write(&writer, &decoded, DECODE_ALL);
    assert_false(read_wire(wire, &result));
    decoded_free(&result);

    char id[] = "a@b", *many[DECODE_REFERENCES_MAX + 2] = {NULL};
    for (size_t i = 0; i <= DECODE_REFERENCES_MAX; i++)
        many[i] = id;
    for (size_t count = DECODE_REFERENCES_MAX + 1; count >= DECODE_REFERENCES_MAX; count--) {
        writer = (struct decode_writer){.wire = wire};
        many[count] = NULL;
        decoded.references = many;
        decode_wire_write(&writer, &decoded, DECODE_IDS);
        decode_wire_write(&writer, &decoded, DECODE_ALL);
        assert_int_equal(read_wire(wire, &result), count == DECODE_REFERENCES_MAX);
        decoded_free(&result);
    }

    char path[] = "a";
    part.path = path;
    part.text = g_strnfill(DECODE_TEXT_MAX, 'x');
    writer = (struct decode_writer){.wire = wire};
    decode_wire_write(&writer, &decoded, DECODE_IDS);
    for (; path[0] <= 'q'; path[0]++)
        decode_wire_write(&writer, &decoded, DECODE_PART);
    decode_wire_write(&writer, &decoded, DECODE_ALL);
    assert_false(read_wire(wire, &result));
    assert_int_equal(result->part_count, DECODE_TEXTS_MAX / DECODE_TEXT_MAX);
    decoded_free(&result);
    g_free(part.text);

    wire->complete = SIZE_MAX;
    assert_false(read_wire(wire, &result));
    decoded_free(&result);
    g_free(decoded.addresses);
    munmap(wire, sizeof(*wire));
}

/* A valid wire cut at every point, and damaged at random. */
static void test_garbage(void **state)
{
    struct decode_wire *wire = new_wire(), *damaged = new_wire();
    struct decode_writer writer = {.wire = wire};
    struct message *message = message_of(letter, sizeof(letter) - 1);
    struct decoded *decoded = decode_message(message, RECORD_TEXT, decode_wire_write, &writer), *result;
    uint64_t seed = 11;

    (void)state;
    assert_true(read_wire(wire, &result));
    decoded_free(&result);
    for (size_t size = 0; size < writer.used; size++) {
        memcpy(damaged->bytes, wire->bytes, writer.used);
        damaged->complete = size;
        assert_false(read_wire(damaged, &result));
        decoded_free(&result);
    }
    damaged->complete = writer.used;
    for (int round = 0; round < rounds(20000); round++) {
        memcpy(damaged->bytes, wire->bytes, writer.used);
        for (unsigned n = next_random(&seed) % 4 + 1; n > 0; n--)
            damaged->bytes[next_random(&seed) % writer.used] = (unsigned char)next_random(&seed);
        (void)read_wire(damaged, &result);
        decoded_free(&result);
    }
    decoded_free(&decoded);
    message_free(&message);
    munmap(wire, sizeof(*wire));
    munmap(damaged, sizeof(*damaged));
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untrusted),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests_name("decode_wire", tests, NULL, NULL);
}
