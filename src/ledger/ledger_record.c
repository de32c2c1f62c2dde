/* SPDX-License-Identifier: ISC
 *
 * Records a message once, in the transaction of the first claim. If deliveries with different lock keys race, the first
 * to commit records it. */
#include <glib.h>
#include <stddef.h>
#include <string.h>

#include "decode/decode.h"
#include "ledger/ledger_internal.h"
#include "message/message.h"

#define RAW_CHUNK (1024 * 1024)
#define TEXT_MAX (1024 * 1024) /* of a part, as in decode.h */

static void add_message(struct ledger *ledger, const struct ledger_message *message, int64_t received_at,
                        const struct decoded *decoded)
{
    const char *const *list = (const char *const *)decoded->references;
    size_t count = list != NULL ? g_strv_length(decoded->references) : 0;
    sql_add(ledger->sql,
            SQL_STEP(record_message, LEDGER_KEY(message), .lock_key = SQL_NUMBER(message_lock_key(message->identity)),
                     .message_id = SQL_TEXT(message->message_id), .sender = SQL_TEXT(message->sender),
                     .from = SQL_TEXT(decoded->from), .subject = SQL_TEXT(decoded->subject),
                     .date = SQL_NUMBER_OR_NULL(decoded->has_date, decoded->date), .size = SQL_NUMBER(message->size),
                     .in_reply_to = SQL_TEXT(decoded->in_reply_to), .references = SQL_TEXTS(list, count),
                     .received_at = SQL_NUMBER(received_at)));
}

static const char **address_column(const struct decoded *decoded, size_t offset)
{
    const char **texts = base_alloc((decoded->address_count + 1) * sizeof(char *));
    for (size_t i = 0; i < decoded->address_count; i++)
        memcpy(&texts[i], (const char *)&decoded->addresses[i] + offset, sizeof(texts[i]));
    return texts;
}

static void add_address_rows(struct ledger *ledger, const struct ledger_message *message, const struct decoded *decoded)
{
    size_t count = decoded->address_count;
    const char **roles OD_CLEANUP(base_free) = address_column(decoded, offsetof(struct decoded_address, role));
    const char **groups OD_CLEANUP(base_free) = address_column(decoded, offsetof(struct decoded_address, group));
    const char **names OD_CLEANUP(base_free) = address_column(decoded, offsetof(struct decoded_address, name));
    const char **addresses OD_CLEANUP(base_free) = address_column(decoded, offsetof(struct decoded_address, address));
    int64_t *positions OD_CLEANUP(base_free) = base_alloc((count + 1) * sizeof(*positions));
    for (size_t i = 0; i < count; i++)
        positions[i] = decoded->addresses[i].position;
    sql_add(ledger->sql, SQL_STEP(record_addresses, LEDGER_KEY(message), .roles = SQL_TEXTS(roles, count),
                                  .positions = SQL_NUMBERS(positions, count), .groups = SQL_TEXTS(groups, count),
                                  .names = SQL_TEXTS(names, count), .addresses = SQL_TEXTS(addresses, count)));
}

static void add_part(struct ledger *ledger, const struct ledger_message *message, const struct decoded_part *part)
{
    sql_add(ledger->sql,
            SQL_STEP(record_part, LEDGER_KEY(message), .path = SQL_TEXT(part->path), .type = SQL_TEXT(part->type),
                     .charset = SQL_TEXT(part->charset), .disposition = SQL_TEXT(part->disposition),
                     .filename = SQL_TEXT(part->filename), .size = SQL_NUMBER(part->size),
                     .sha256 = SQL_BYTES(part->sha256, sizeof(part->sha256)),
                     .content = SQL_TEXT_CUT(part->text, TEXT_MAX)));
}

static void add_raw(struct ledger *ledger, const struct ledger_message *message, size_t at)
{
    size_t left = (size_t)message->size - at;
    sql_add(ledger->sql,
            SQL_STEP(record_raw, LEDGER_KEY(message), .chunk = SQL_NUMBER((int64_t)(at / RAW_CHUNK)),
                     .data = SQL_BYTES((const char *)message->data + at, left < RAW_CHUNK ? left : RAW_CHUNK)));
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
