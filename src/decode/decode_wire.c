/* SPDX-License-Identifier: ISC */
#include "decode/decoder.h"

#include <string.h>

#define ABSENT UINT32_MAX                      /* a NULL string's length */
#define SHORT_TEXT_MAX (3 * DECODE_HEADER_MAX) /* an invalid byte becomes three */
#define PATH_TEXT_MAX 512                      /* an index row has little more room */

static void put_bytes(struct decode_writer *writer, const void *bytes, size_t size)
{
    writer->full = writer->full || size > DECODE_WIRE_MAX - writer->used;
    if (writer->full || size == 0)
        return;
    memcpy(writer->wire->bytes + writer->used, bytes, size);
    writer->used += size;
}

static void put_number(struct decode_writer *writer, int64_t number)
{
    put_bytes(writer, &number, sizeof(number));
}

static void put_text(struct decode_writer *writer, const char *text)
{
    uint32_t length = text != NULL ? (uint32_t)strlen(text) : ABSENT;

    put_bytes(writer, &length, sizeof(length));
    if (text != NULL)
        put_bytes(writer, text, length);
}

static void put_ids(struct decode_writer *writer, const struct decoded *decoded)
{
    put_number(writer, decoded->has_date);
    put_number(writer, decoded->date);
    put_text(writer, decoded->in_reply_to);
    for (char **id = decoded->references; *id != NULL; id++)
        put_text(writer, *id);
    put_text(writer, NULL);
}

static void put_addresses(struct decode_writer *writer, const struct decoded *decoded)
{
    put_number(writer, (int64_t)(decoded->address_count - writer->addresses));
    for (; writer->addresses < decoded->address_count; writer->addresses++) {
        const struct decoded_address *address = &decoded->addresses[writer->addresses];

        put_text(writer, address->role);
        put_text(writer, address->group);
        put_text(writer, address->name);
        put_text(writer, address->address);
    }
}

static void put_part(struct decode_writer *writer, const struct decoded_part *part)
{
    put_text(writer, part->path);
    put_text(writer, part->type);
    put_text(writer, part->charset);
    put_text(writer, part->disposition);
    put_text(writer, part->filename);
    put_text(writer, part->text);
    put_number(writer, part->size);
    put_bytes(writer, part->sha256, sizeof(part->sha256));
}

void decode_wire_write(void *context, const struct decoded *decoded, enum decode_stage stage)
{
    struct decode_writer *writer = context;

    put_number(writer, stage);
    switch (stage) {
    case DECODE_IDS:
        put_ids(writer, decoded);
        break;
    case DECODE_FROM:
        put_text(writer, decoded->from);
        break;
    case DECODE_SUBJECT:
        put_text(writer, decoded->subject);
        break;
    case DECODE_ADDRESSES:
        put_addresses(writer, decoded);
        break;
    case DECODE_PART:
        put_part(writer, &decoded->parts[decoded->part_count - 1]);
        break;
    case DECODE_ALL:
        break;
    }
    if (!writer->full)
        atomic_store_explicit(&writer->wire->complete, writer->used, memory_order_release);
}

struct reader {
    const unsigned char *at, *end;
    bool wrong;
    size_t texts_left;
    GHashTable *paths; /* of the parts so far */
    int positions[8];  /* so far, by role */
};

static bool get_bytes(struct reader *reader, void *bytes, size_t size)
{
    reader->wrong = reader->wrong || size > (size_t)(reader->end - reader->at);
    if (reader->wrong)
        return false;
    memcpy(bytes, reader->at, size);
    reader->at += size;
    return true;
}

static int64_t get_number(struct reader *reader, int64_t min, int64_t max)
{
    int64_t number = 0;

    if (get_bytes(reader, &number, sizeof(number)) && (number < min || number > max))
        reader->wrong = true;
    return reader->wrong ? min : number;
}

/* Returns valid UTF-8 without NUL, or NULL. */
static char *get_text(struct reader *reader, size_t max)
{
    uint32_t length = ABSENT;

    if (!get_bytes(reader, &length, sizeof(length)) || length == ABSENT)
        return NULL;
    if (length > max || length > (size_t)(reader->end - reader->at)) {
        reader->wrong = true;
        return NULL;
    }
    /* check the copy: the shared original may change */
    char *text = base_strndup((const char *)reader->at, length);
    if (strlen(text) != length || !g_utf8_validate(text, (gssize)length, NULL)) {
        reader->wrong = true;
        base_free(&text);
        return NULL;
    }
    reader->at += length;
    return text;
}

static char *get_required(struct reader *reader, size_t max)
{
    char *text = get_text(reader, max);

    reader->wrong = reader->wrong || text == NULL;
    return text;
}

static void get_ids(struct reader *reader, struct decoded *decoded)
{
    decoded->has_date = get_number(reader, 0, 1) == 1;
    decoded->date = get_number(reader, DECODE_DATE_MIN, DECODE_DATE_MAX);
    decoded->in_reply_to = get_text(reader, SHORT_TEXT_MAX);
    for (char **id = decoded->references; (*id = get_text(reader, SHORT_TEXT_MAX)) != NULL; id++) {
        if (id == decoded->references + DECODE_REFERENCES_MAX) {
            base_free(id);
            reader->wrong = true;
            break;
        }
    }
    decoded->has_date = decoded->has_date && !reader->wrong;
}

static size_t role_index(const char *role)
{
    size_t i = 0;

    while (decoded_roles[i] != NULL && (role == NULL || strcmp(decoded_roles[i], role) != 0))
        i++;
    return i;
}

static void get_address(struct reader *reader, struct decoded *decoded)
{
    char *role OD_CLEANUP(base_free) = get_required(reader, SHORT_TEXT_MAX);
    char *group OD_CLEANUP(base_free) = get_text(reader, SHORT_TEXT_MAX);
    char *name OD_CLEANUP(base_free) = get_text(reader, SHORT_TEXT_MAX);
    char *address OD_CLEANUP(base_free) = get_required(reader, SHORT_TEXT_MAX);
    size_t index = role_index(role);

    reader->wrong = reader->wrong || decoded_roles[index] == NULL || decoded->address_count == DECODE_ADDRESSES_MAX;
    if (reader->wrong)
        return;
    *decoded_add_address(decoded) = (struct decoded_address){
        .role = decoded_roles[index],
        .position = ++reader->positions[index],
        .group = g_steal_pointer(&group),
        .name = g_steal_pointer(&name),
        .address = g_steal_pointer(&address),
    };
}

static void get_addresses(struct reader *reader, struct decoded *decoded)
{
    int64_t count = get_number(reader, 0, DECODE_ADDRESSES_MAX);

    while (!reader->wrong && count-- > 0)
        get_address(reader, decoded);
}

static char *get_part_text(struct reader *reader)
{
    char *text = get_text(reader, reader->texts_left < DECODE_TEXT_MAX ? reader->texts_left : DECODE_TEXT_MAX);

    reader->texts_left -= text != NULL ? strlen(text) : 0;
    return text;
}

/* A repeated path is an error: the database would refuse it at each retry. */
static void get_part(struct reader *reader, struct decoded *decoded)
{
    if (decoded->part_count == DECODE_PARTS_MAX) {
        reader->wrong = true;
        return;
    }
    struct decoded_part *part = decoded_add_part(decoded);
    part->path = get_required(reader, PATH_TEXT_MAX);
    part->type = get_required(reader, SHORT_TEXT_MAX);
    part->charset = get_text(reader, SHORT_TEXT_MAX);
    part->disposition = get_text(reader, SHORT_TEXT_MAX);
    part->filename = get_text(reader, SHORT_TEXT_MAX);
    part->text = get_part_text(reader);
    part->size = get_number(reader, 0, INT64_MAX);
    if (get_bytes(reader, part->sha256, sizeof(part->sha256)) && !g_hash_table_add(reader->paths, part->path))
        reader->wrong = true;
    if (reader->wrong) {
        decoded->part_count--;
        decoded_part_clear(part);
    }
}

static void get_frame(struct reader *reader, struct decoded *decoded, enum decode_stage stage)
{
    switch (stage) {
    case DECODE_IDS:
        get_ids(reader, decoded);
        break;
    case DECODE_FROM:
        decoded->from = get_text(reader, SHORT_TEXT_MAX);
        break;
    case DECODE_SUBJECT:
        decoded->subject = get_text(reader, SHORT_TEXT_MAX);
        break;
    case DECODE_ADDRESSES:
        get_addresses(reader, decoded);
        break;
    case DECODE_PART:
        get_part(reader, decoded);
        break;
    case DECODE_ALL:
        break;
    }
}

bool decode_wire_read(const struct decode_wire *wire, struct decoded *decoded)
{
    size_t complete = atomic_load_explicit(&wire->complete, memory_order_acquire);
    struct reader reader = {
        .at = wire->bytes,
        .end = wire->bytes + (complete <= DECODE_WIRE_MAX ? complete : 0),
        .texts_left = DECODE_TEXTS_MAX,
        .paths = g_hash_table_new(g_str_hash, g_str_equal),
    };
    int64_t last = DECODE_IDS - 1;

    while (!reader.wrong && last != DECODE_ALL) {
        /* only these repeat */
        bool again = last == DECODE_ADDRESSES || last == DECODE_PART;
        int64_t stage = get_number(&reader, again ? last : last + 1, DECODE_ALL);

        if (!reader.wrong)
            get_frame(&reader, decoded, (enum decode_stage)stage);
        last = stage;
    }
    g_hash_table_destroy(reader.paths);
    return !reader.wrong;
}
