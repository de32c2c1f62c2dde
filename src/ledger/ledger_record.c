/* SPDX-License-Identifier: ISC
 *
 * The record of a message, which applications read. It is written once, in the transaction of the first claim; if two
 * deliveries with different lock keys are first, by the one that commits first. */
#include <glib.h>
#include <stddef.h>
#include <string.h>

#include "decode/decode.h"
#include "ledger/ledger_record.h"
#include "message/message.h"

#define RAW_CHUNK (1024 * 1024)
#define TEXT_MAX (1024 * 1024) /* of a part: decode.h returns no more */

static void add_message(struct ledger *ledger, const struct ledger_message *message, int64_t received_at,
                        const struct decoded *decoded)
{
    const char *const *list = (const char *const *)decoded->references;
    size_t count = list != NULL ? g_strv_length(decoded->references) : 0;
    char *references OD_CLEANUP(base_free) = pg_text_array(list, count);
    pg_add(ledger->pg,
           "INSERT INTO @schema@.message (identity, digest, lock_key, message_id, sender, \"from\", subject, date,"
           " size, in_reply_to, \"references\", received_at)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, pg_catalog.to_timestamp($8::bigint), $9, $10, $11,"
           " pg_catalog.to_timestamp($12::bigint)) ON CONFLICT DO NOTHING",
           PG_PARAMS(LEDGER_KEY(message), PG_NUMBER(message_lock_key(message->identity)), PG_TEXT(message->message_id),
                     PG_TEXT(message->sender), PG_TEXT(decoded->from), PG_TEXT(decoded->subject),
                     PG_NUMBER_IF(decoded->has_date, decoded->date), PG_NUMBER(message->size),
                     PG_TEXT(decoded->in_reply_to), PG_ARRAY(references), PG_NUMBER(received_at)));
}

/* A column of the addresses: the text at this offset of each. An array literal, a new string. */
static char *address_column(const struct decoded *decoded, size_t offset)
{
    const char **texts OD_CLEANUP(base_free) = base_alloc((decoded->address_count + 1) * sizeof(char *));
    for (size_t i = 0; i < decoded->address_count; i++)
        memcpy(&texts[i], (const char *)&decoded->addresses[i] + offset, sizeof(texts[i]));
    return pg_text_array(texts, decoded->address_count);
}

static char *position_column(const struct decoded *decoded)
{
    GString *text = g_string_new("{");
    for (size_t i = 0; i < decoded->address_count; i++)
        g_string_append_printf(text, "%s%d", i > 0 ? "," : "", decoded->addresses[i].position);
    g_string_append_c(text, '}');
    return g_string_free(text, FALSE);
}

static void add_address_rows(struct ledger *ledger, const struct ledger_message *message, const struct decoded *decoded)
{
    char *roles OD_CLEANUP(base_free) = address_column(decoded, offsetof(struct decoded_address, role));
    char *positions OD_CLEANUP(base_free) = position_column(decoded);
    char *groups OD_CLEANUP(base_free) = address_column(decoded, offsetof(struct decoded_address, group));
    char *names OD_CLEANUP(base_free) = address_column(decoded, offsetof(struct decoded_address, name));
    char *addresses OD_CLEANUP(base_free) = address_column(decoded, offsetof(struct decoded_address, address));
    pg_add(ledger->pg,
           "INSERT INTO @schema@.address (message, role, position, \"group\", name, address)"
           " SELECT m.id, a.role, a.position::integer, a.\"group\", a.name, a.address"
           " FROM @schema@.message m, unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[])"
           " AS a(role, position, \"group\", name, address) WHERE m.identity = $1 AND m.digest = $2"
           " ON CONFLICT DO NOTHING",
           PG_PARAMS(LEDGER_KEY(message), PG_ARRAY(roles), PG_ARRAY(positions), PG_ARRAY(groups), PG_ARRAY(names),
                     PG_ARRAY(addresses)));
}

static void add_part(struct ledger *ledger, const struct ledger_message *message, const struct decoded_part *part)
{
    pg_add(ledger->pg,
           "INSERT INTO @schema@.part (message, path, type, charset, disposition, filename, size, sha256, text)"
           " SELECT id, $3::text, $4::text, $5::text, $6::text, $7::text, $8::bigint, $9::bytea, $10::text"
           " FROM @schema@.message WHERE identity = $1 AND digest = $2 ON CONFLICT DO NOTHING",
           PG_PARAMS(LEDGER_KEY(message), PG_TEXT(part->path), PG_TEXT(part->type), PG_TEXT(part->charset),
                     PG_TEXT(part->disposition), PG_TEXT(part->filename), PG_NUMBER(part->size),
                     PG_BYTES(part->sha256, sizeof(part->sha256)), {.data = part->text, .max = TEXT_MAX}));
}

static void add_raw(struct ledger *ledger, const struct ledger_message *message, size_t at)
{
    size_t left = (size_t)message->size - at;
    pg_add(ledger->pg,
           "INSERT INTO @schema@.raw (message, chunk, data) SELECT id, $3::integer, $4::bytea"
           " FROM @schema@.message WHERE identity = $1 AND digest = $2 ON CONFLICT DO NOTHING",
           PG_PARAMS(LEDGER_KEY(message), PG_NUMBER((int64_t)(at / RAW_CHUNK)),
                     PG_BYTES((const char *)message->data + at, left < RAW_CHUNK ? left : RAW_CHUNK)));
}

void ledger_add_record(struct ledger *ledger, const struct ledger_message *message, int64_t received_at,
                       const struct decoded *decoded)
{
    add_message(ledger, message, received_at, decoded);
    if (decoded->address_count > 0)
        add_address_rows(ledger, message, decoded);
    for (size_t i = 0; i < decoded->part_count; i++)
        add_part(ledger, message, &decoded->parts[i]);
    for (size_t at = 0; ledger->config->record.level == RECORD_RAW && at < (size_t)message->size; at += RAW_CHUNK)
        add_raw(ledger, message, at);
}
