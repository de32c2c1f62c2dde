/* SPDX-License-Identifier: ISC
 *
 * A decoding child that was taken over by way of a library may leave anything in the memory that it shares. The reader
 * takes nothing that the database would not take, and at most what there may be. */
#include "fuzz.h"

#include <glib.h>

#include "decode/decode_internal.h"

static struct decode_wire wire;

static void check_text(const char *text)
{
    FUZZ_CHECK(text == NULL || g_utf8_validate(text, -1, NULL));
}

static void check_part(const struct decoded *decoded, size_t i)
{
    const struct decoded_part *part = &decoded->parts[i];

    FUZZ_CHECK(part->path != NULL && part->type != NULL && part->size >= 0);
    FUZZ_CHECK(strlen(part->path) <= 512 && (part->text == NULL || strlen(part->text) <= DECODE_TEXT_MAX));
    for (size_t before = 0; before < i; before++)
        FUZZ_CHECK(strcmp(decoded->parts[before].path, part->path) != 0);
    check_text(part->path);
    check_text(part->type);
    check_text(part->charset);
    check_text(part->disposition);
    check_text(part->filename);
    check_text(part->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct decoded *decoded = decoded_new();

    if (size > 0)
        memcpy(wire.bytes, bytes, size);
    wire.complete = size;
    (void)!decode_wire_read(&wire, decoded);
    FUZZ_CHECK(!decoded->has_date || (decoded->date >= DECODE_DATE_MIN && decoded->date <= DECODE_DATE_MAX));
    check_text(decoded->subject);
    check_text(decoded->from);
    check_text(decoded->in_reply_to);
    for (char **id = decoded->references; *id != NULL; id++)
        check_text(*id);
    FUZZ_CHECK(decoded->address_count <= DECODE_ADDRESSES_MAX && decoded->part_count <= DECODE_PARTS_MAX);
    for (size_t i = 0; i < decoded->address_count; i++) {
        const struct decoded_address *address = &decoded->addresses[i];

        FUZZ_CHECK(address->address != NULL && address->position > 0 && g_strv_contains(decoded_roles, address->role));
        check_text(address->address);
        check_text(address->name);
        check_text(address->group);
    }
    for (size_t i = 0; i < decoded->part_count; i++)
        check_part(decoded, i);
    decoded_free(&decoded);
    return 0;
}
