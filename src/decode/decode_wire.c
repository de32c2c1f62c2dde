/* SPDX-License-Identifier: ISC */
#include "decode/decode_internal.h"

#include <string.h>

#define ABSENT UINT32_MAX                      /* a NULL string's length */
#define SHORT_TEXT_MAX (3 * DECODE_HEADER_MAX) /* an invalid byte becomes three */
#define PATH_TEXT_MAX 512                      /* an index row has little more room */

/* Either direction: the code_ functions write what they are given, or check what they read, without limits for writing. */
struct codec {
    unsigned char *to; /* NULL: reads */
    const unsigned char *from;
    size_t left;
    bool failed; /* no room, or a bad frame */

    /* of the reader */
    size_t texts_left;
    GHashTable *paths; /* of the parts so far */
    int positions[DECODED_ROLES];
};

static void code_bytes(struct codec *codec, void *bytes, size_t size)
{
    codec->failed = codec->failed || size > codec->left;
    if (codec->failed || size == 0)
        return;
    if (codec->to != NULL) {
        memcpy(codec->to, bytes, size);
        codec->to += size;
    } else if (codec->from != NULL) {
        memcpy(bytes, codec->from, size);
        codec->from += size;
    }
    codec->left -= size;
}

static void code_number(struct codec *codec, int64_t *number, int64_t min, int64_t max)
{
    code_bytes(codec, number, sizeof(*number));
    if (codec->to != NULL || (!codec->failed && *number >= min && *number <= max))
        return;
    codec->failed = true;
    *number = min;
}

/* Returns valid UTF-8 without NUL, or NULL. */
static char *receive_text(struct codec *codec, size_t length, size_t max)
{
    codec->failed = codec->failed || length > max || length > codec->left;
    if (codec->failed)
        return NULL;
    /* check the copy: the shared original may change */
    char *text = base_strndup((const char *)codec->from, length);
    if (strlen(text) != length || !g_utf8_validate(text, (gssize)length, NULL)) {
        codec->failed = true;
        base_free(&text);
    }
    codec->from += length;
    codec->left -= length;
    return text;
}

static void code_text(struct codec *codec, char **text, size_t max)
{
    uint32_t length = *text != NULL ? (uint32_t)strlen(*text) : ABSENT;

    code_bytes(codec, &length, sizeof(length));
    if (length == ABSENT)
        return;
    if (codec->to != NULL)
        code_bytes(codec, *text, length);
    else
        *text = receive_text(codec, length, max);
}

static void code_required(struct codec *codec, char **text, size_t max)
{
    code_text(codec, text, max);
    codec->failed = codec->failed || (codec->to == NULL && *text == NULL);
}

static void code_ids(struct codec *codec, struct decoded *decoded)
{
    int64_t has_date = decoded->has_date, count = g_strv_length(decoded->references);

    code_number(codec, &has_date, 0, 1);
    code_number(codec, &decoded->date, DECODE_DATE_MIN, DECODE_DATE_MAX);
    code_text(codec, &decoded->in_reply_to, SHORT_TEXT_MAX);
    code_number(codec, &count, 0, DECODE_REFERENCES_MAX);
    for (int64_t i = 0; i < count && !codec->failed; i++)
        code_required(codec, &decoded->references[i], SHORT_TEXT_MAX);
    decoded->has_date = has_date == 1 && !codec->failed;
}

static int64_t role_index(const char *role)
{
    int64_t i = 0;

    while (decoded_roles[i] != NULL && (role == NULL || strcmp(decoded_roles[i], role) != 0))
        i++;
    return i;
}

static void code_address(struct codec *codec, struct decoded_address *address)
{
    int64_t role = role_index(address->role);

    code_number(codec, &role, 0, DECODED_ROLES - 1);
    code_text(codec, &address->group, SHORT_TEXT_MAX);
    code_text(codec, &address->name, SHORT_TEXT_MAX);
    code_required(codec, &address->address, SHORT_TEXT_MAX);
    if (codec->to != NULL)
        return;
    address->role = decoded_roles[role];
    address->position = ++codec->positions[role];
}

/* first: the first address to write. */
static void code_addresses(struct codec *codec, struct decoded *decoded, size_t first)
{
    bool reads = codec->to == NULL;
    int64_t count = (int64_t)(decoded->address_count - first);

    code_number(codec, &count, 0, DECODE_ADDRESSES_MAX - (int64_t)decoded->address_count);
    for (; count > 0 && !codec->failed; count--)
        code_address(codec, reads ? decoded_add_address(decoded) : &decoded->addresses[first++]);
    if (reads && codec->failed && decoded->address_count > first)
        decoded_address_clear(&decoded->addresses[--decoded->address_count]);
}

static void code_part(struct codec *codec, struct decoded_part *part)
{
    code_required(codec, &part->path, PATH_TEXT_MAX);
    code_required(codec, &part->type, SHORT_TEXT_MAX);
    code_text(codec, &part->charset, SHORT_TEXT_MAX);
    code_text(codec, &part->disposition, SHORT_TEXT_MAX);
    code_text(codec, &part->filename, SHORT_TEXT_MAX);
    code_text(codec, &part->text, MIN(codec->texts_left, DECODE_TEXT_MAX));
    code_number(codec, &part->size, 0, INT64_MAX);
    code_bytes(codec, part->sha256, sizeof(part->sha256));
}

/* A repeated path is an error: the database would refuse it at each retry. */
static void receive_part(struct codec *codec, struct decoded *decoded)
{
    codec->failed = codec->failed || decoded->part_count == DECODE_PARTS_MAX;
    if (codec->failed)
        return;
    struct decoded_part *part = decoded_add_part(decoded);
    code_part(codec, part);
    codec->failed = codec->failed || !g_hash_table_add(codec->paths, part->path);
    if (!codec->failed) {
        codec->texts_left -= part->text != NULL ? strlen(part->text) : 0;
        return;
    }
    decoded->part_count--;
    decoded_part_clear(part);
}

static void code_frame(struct codec *codec, struct decoded *decoded, enum decode_stage stage, size_t first_address)
{
    if (stage == DECODE_IDS)
        code_ids(codec, decoded);
    else if (stage == DECODE_FROM || stage == DECODE_SUBJECT)
        code_text(codec, stage == DECODE_FROM ? &decoded->from : &decoded->subject, SHORT_TEXT_MAX);
    else if (stage == DECODE_ADDRESSES)
        code_addresses(codec, decoded, first_address);
    else if (stage == DECODE_PART && codec->to != NULL)
        code_part(codec, &decoded->parts[decoded->part_count - 1]);
    else if (stage == DECODE_PART)
        receive_part(codec, decoded);
}

void decode_wire_write(void *context, const struct decoded *decoded, enum decode_stage stage)
{
    struct decode_writer *writer = context;
    struct decoded copy = *decoded;
    size_t left = DECODE_WIRE_MAX - writer->used;
    struct codec codec = {.to = writer->wire->bytes + writer->used, .left = left, .failed = writer->full};
    int64_t number = stage;

    code_number(&codec, &number, DECODE_IDS, DECODE_ALL);
    code_frame(&codec, &copy, stage, writer->addresses);
    writer->addresses = stage == DECODE_ADDRESSES ? decoded->address_count : writer->addresses;
    writer->used += left - codec.left;
    writer->full = codec.failed;
    if (!writer->full)
        atomic_store_explicit(&writer->wire->complete, writer->used, memory_order_release);
}

bool decode_wire_read(const struct decode_wire *wire, struct decoded *decoded)
{
    size_t complete = atomic_load_explicit(&wire->complete, memory_order_acquire);
    g_autoptr(GHashTable) paths = g_hash_table_new(g_str_hash, g_str_equal);
    struct codec codec = {
        .from = wire->bytes,
        .left = complete <= DECODE_WIRE_MAX ? complete : 0,
        .texts_left = DECODE_TEXTS_MAX,
        .paths = paths,
    };
    int64_t stage = DECODE_IDS - 1;

    while (!codec.failed && stage != DECODE_ALL) {
        /* only these repeat */
        bool again = stage == DECODE_ADDRESSES || stage == DECODE_PART;

        code_number(&codec, &stage, again ? stage : stage + 1, DECODE_ALL);
        if (!codec.failed)
            code_frame(&codec, decoded, (enum decode_stage)stage, decoded->address_count);
    }
    return !codec.failed;
}
