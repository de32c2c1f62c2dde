/* SPDX-License-Identifier: ISC
 *
 * The parts of a message that go into SQL, for any bytes in any character set that `iconv -l` lists. They are valid UTF-8
 * without NUL, within the limits, and no longer than the input explains, so that no memory of the process is in them. */
#include "fuzz.h"

#include <glib.h>
#include <gmime/gmime.h>

#include "../message_bytes.h"
#include "decode/decode_internal.h"

#define TEXT_MAX ((size_t)1 << 20)
/* A byte becomes at most four of UTF-8, with a little of what converters write of themselves. */
#define BYTES_PER_BYTE 4

static struct decode_wire wire;
static char **charsets;
static size_t charset_count;

static void append_encoded(GString *out, const uint8_t *bytes, size_t size, char mark)
{
    for (size_t i = 0; i < size; i++)
        g_string_append_printf(out, "%c%02X", mark, bytes[i]);
}

/* The bytes as text of a charset, wherever a message can contain such text. */
static GString *message_in(const char *charset, const struct fuzz_input *input, unsigned places)
{
    GString *out = g_string_new("Message-ID: <fuzz@mail.example>\n");
    char *encoded = g_base64_encode(input->bytes, input->size);

    if (places & 1) {
        g_string_append_printf(out, "Subject: =?%s?q?", charset);
        append_encoded(out, input->bytes, input->size, '=');
        g_string_append_printf(out, "?= =?%s?b?%s?=\n", charset, encoded);
    }
    if (places & 2)
        g_string_append_printf(out, "From: =?%s?b?%s?= <lisa@mail.example>\nTo: =?%s?b?%s?=: a@mail.example;\n",
                               charset, encoded, charset, encoded);
    if (places & 4) {
        g_string_append_printf(out, "Content-Disposition: attachment; filename*=%s''", charset);
        append_encoded(out, input->bytes, input->size, '%');
        g_string_append_c(out, '\n');
    }
    if (places & 8) {
        g_string_append(out, "Subject: ");
        g_string_append_len(out, (const char *)input->bytes, (gssize)input->size);
        g_string_append_c(out, '\n');
    }
    g_string_append_printf(out, "Content-Type: text/plain; charset=%s\nContent-Transfer-Encoding: %s\n\n", charset,
                           places & 16 ? "8bit" : "base64");
    if (places & 16)
        g_string_append_len(out, (const char *)input->bytes, (gssize)input->size);
    else
        g_string_append(out, encoded);
    g_free(encoded);
    return out;
}

/* Returns the length of a text that may be missing; `source`: what it was made from is not longer. */
static size_t check_text(const char *text, size_t source)
{
    size_t length = text != NULL ? strlen(text) : 0;

    FUZZ_CHECK(text == NULL || g_utf8_validate(text, (gssize)length, NULL));
    FUZZ_CHECK(length <= BYTES_PER_BYTE * source + 16);
    return length;
}

static void check_addresses(const struct decoded *decoded, size_t source)
{
    static const char *const roles[] = {"from", "sender", "reply-to", "to", "cc", "bcc", NULL};

    FUZZ_CHECK(decoded->address_count <= 2000);
    for (size_t i = 0; i < decoded->address_count; i++) {
        const struct decoded_address *address = &decoded->addresses[i];

        FUZZ_CHECK(g_strv_contains(roles, address->role) && address->position > 0);
        FUZZ_CHECK(address->address != NULL && address->address[0] != '\0');
        (void)check_text(address->address, source);
        (void)check_text(address->name, source);
        (void)check_text(address->group, source);
    }
}

static void check_parts(const struct decoded *decoded, size_t source, size_t size)
{
    size_t texts = 0;

    FUZZ_CHECK(decoded->part_count >= 1 && decoded->part_count <= 1000);
    for (size_t i = 0; i < decoded->part_count; i++) {
        const struct decoded_part *part = &decoded->parts[i];

        FUZZ_CHECK(part->path != NULL && part->path[strspn(part->path, "0123456789.")] == '\0' && part->type != NULL);
        FUZZ_CHECK(part->size >= 0 && (size_t)part->size <= size);
        (void)check_text(part->path, SIZE_MAX / 8);
        (void)check_text(part->type, source);
        (void)check_text(part->charset, source);
        (void)check_text(part->disposition, source);
        (void)check_text(part->filename, source);
        FUZZ_CHECK(check_text(part->text, (size_t)part->size) <= TEXT_MAX);
        texts += part->text != NULL ? strlen(part->text) : 0;
    }
    FUZZ_CHECK(texts <= 16 * TEXT_MAX);
}

static bool same_text(const char *a, const char *b)
{
    return a != NULL && b != NULL ? strcmp(a, b) == 0 : a == b;
}

/* What is read from the memory shared with the decoding child is what was written. */
static void check_wire(const struct decoded *decoded)
{
    struct decoded *read = decoded_new();

    FUZZ_CHECK(decode_wire_read(&wire, read));
    FUZZ_CHECK(same_text(read->subject, decoded->subject) && same_text(read->from, decoded->from));
    FUZZ_CHECK(same_text(read->in_reply_to, decoded->in_reply_to) && read->has_date == decoded->has_date);
    FUZZ_CHECK(!read->has_date || read->date == decoded->date);
    FUZZ_CHECK(g_strv_equal((const char *const *)read->references, (const char *const *)decoded->references));
    FUZZ_CHECK(read->address_count == decoded->address_count && read->part_count == decoded->part_count);
    for (size_t i = 0; i < read->address_count; i++) {
        const struct decoded_address *a = &read->addresses[i], *b = &decoded->addresses[i];

        FUZZ_CHECK(same_text(a->role, b->role) && a->position == b->position && same_text(a->group, b->group));
        FUZZ_CHECK(same_text(a->name, b->name) && same_text(a->address, b->address));
    }
    for (size_t i = 0; i < read->part_count; i++) {
        const struct decoded_part *a = &read->parts[i], *b = &decoded->parts[i];

        FUZZ_CHECK(same_text(a->path, b->path) && same_text(a->type, b->type) && same_text(a->charset, b->charset));
        FUZZ_CHECK(same_text(a->disposition, b->disposition) && same_text(a->filename, b->filename));
        FUZZ_CHECK(same_text(a->text, b->text) && a->size == b->size);
        FUZZ_CHECK(memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0);
    }
    decoded_free(&read);
}

static void check_decoded(const struct message *message, enum record_level level)
{
    struct decode_writer writer = {.wire = &wire};
    struct decoded *decoded = decode_message(message, level, decode_wire_write, &writer);
    size_t count = 0;

    (void)check_text(decoded->subject, message->header_size);
    (void)check_text(decoded->from, message->header_size);
    (void)check_text(decoded->in_reply_to, message->header_size);
    for (; decoded->references[count] != NULL; count++)
        (void)check_text(decoded->references[count], message->header_size);
    FUZZ_CHECK(count <= 1000);
    FUZZ_CHECK(level != RECORD_ENVELOPE || decoded->address_count == 0);
    check_addresses(decoded, message->header_size);
    FUZZ_CHECK(level == RECORD_TEXT || decoded->part_count == 0);
    if (level == RECORD_TEXT)
        check_parts(decoded, message->size, message->size);
    check_wire(decoded);
    decoded_free(&decoded);
    FUZZ_CHECK(decoded == NULL);
}

static void try_bytes(const void *bytes, size_t size, enum record_level level)
{
    struct message *message OD_CLEANUP(message_free) = NULL;
    struct error error;

    if (message_from_bytes(bytes, size, 0, &message, &error) == MESSAGE_OK)
        check_decoded(message, level);
}

static void try_charset(const struct fuzz_input *input, size_t which, unsigned places)
{
    GString *message = message_in(charsets[which % charset_count], input, places);

    try_bytes(message->str, message->len, RECORD_TEXT);
    g_string_free(message, TRUE);
}

static void list_charsets(void)
{
    char *list = NULL;

    FUZZ_CHECK(g_spawn_command_line_sync("iconv -l", &list, NULL, NULL, NULL));
    charsets = g_strsplit_set(list, " ,/\n", -1);
    g_free(list);
    for (char **name = charsets; *name != NULL; name++) {
        if (**name != '\0')
            charsets[charset_count++] = *name;
        else
            g_free(*name); /* between two separators */
    }
    charsets[charset_count] = NULL;
    FUZZ_CHECK(charset_count > 100);
}

/* Every charset once with difficult input: shifts, escapes and characters that are cut off. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const texts[] = {
        "x\x0e", "\x1b", "\x1b$)A\x0e!", "\x1b$B0", "\xa4\xa2\xa4", "\xa2\xe8", "+", "\xff\xd8",
    };

    (void)argc, (void)argv;
    list_charsets();
    for (size_t i = 0; i < charset_count; i++)
        for (size_t text = 0; text < G_N_ELEMENTS(texts); text++)
            try_charset(&(struct fuzz_input){(const uint8_t *)texts[text], strlen(texts[text])}, i, 1 | 2 | 4);
    return 0;
}

/* The last byte chooses: an unchanged message, or bytes of a charset and their place; the two before it choose which. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    uint8_t kind = fuzz_option(&input);

    if (kind < 128) {
        try_bytes(input.bytes, input.size, kind < RECORD_TEXT ? (enum record_level)kind : RECORD_TEXT);
    } else {
        size_t which = fuzz_option(&input) * (size_t)256;

        which += fuzz_option(&input);
        try_charset(&input, which, kind & 31);
    }
    return 0;
}
