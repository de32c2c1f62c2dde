/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_check.h"

#include <string.h>

#include "decode/decode.h"
#include "ledger/ledger_internal.h"

const char *ledger_check_tls(const struct ledger *ledger, bool *ret_ok)
{
    return sql_tls_summary(ledger->sql, ret_ok);
}

enum sql_self_test ledger_self_test(const struct config *config, bool connects, size_t n, const char **ret_name,
                                    struct error *ret)
{
    const struct sql_engine *engine = sql_load(config, ret);
    *ret_name = "database";
    if (engine == NULL)
        return SQL_SELF_TEST_FAILED;
    const struct sql_self_tester *it = engine->self_tests;
    while (it != NULL && it->name != NULL && n-- > 0)
        it++;
    if (it == NULL || it->name == NULL || (it->connects && !connects))
        return SQL_SELF_TEST_END;
    *ret_name = it->name;
    return it->run(config, ret);
}

static bool write_delivery(struct ledger *ledger, const struct ledger_message *message,
                           const struct ledger_state *found, struct error *error)
{
    static char text[] = "check \xe2\x9c\x93"; /* not ASCII, which every database accepts */
    struct decoded_address address = {.role = "from", .position = 1, .address = text};
    struct decoded_part part = {.path = text, .type = text, .size = message->size, .text = text};
    const struct decoded decoded = {
        .subject = text,
        .from = text,
        .addresses = &address,
        .address_count = ledger->config->record.level >= RECORD_HEADERS,
        .parts = &part,
        .part_count = ledger->config->record.level >= RECORD_TEXT,
    };
    const struct ledger_copy copy = {.target = 0, .recipient = 0};
    const struct ledger_copy_result result = {.target = 0, .state = COPY_STORED};
    struct ledger_reply reply = {.recipient = 0, .outcome = "stored", .finished = true};
    const struct ledger_replies replies = {.replies = &reply, .count = 1};
    struct ledger_claim *claim OD_CLEANUP(ledger_claim_free) = ledger_claim_begin(message, found, &copy, 1);
    ledger_add_begin_under(ledger);
    sql_add(ledger->sql, SQL_STEP(server_record, .server = SQL_TEXT("check"), .verified = SQL_BOOL(true)));
    sql_add(ledger->sql, SQL_STEP(server_read, .server = SQL_TEXT("check"), .verified_ms = SQL_NUMBER(0),
                                  .refused_ms = SQL_NUMBER(0)));
    sql_add(ledger->sql, SQL_STEP(server_set_out, .server = SQL_TEXT("check"), .refused_ms = SQL_NUMBER(0)));
    ledger_add_claim(ledger, claim, found, replies, &decoded);
    (void)ledger_add_settle(ledger, claim, &result, 1, replies);
    bool written = sql_send(ledger->sql, error) && sql_succeeded(ledger->sql, sql_mark(ledger->sql), error);
    sql_finish(ledger->sql);
    return written;
}

bool ledger_check_write(struct ledger *ledger, struct error *error)
{
    static const char *const feeds[] = {"check", NULL};
    const struct ledger_target target = {
        .account = "check",
        .mailbox = "check",
        .role = COPY_SENT,
        .refusal = "check",
        .feeds = config_feed_count(ledger->config) > 0 ? feeds : NULL,
    };
    static const struct ledger_recipient recipient = {.address = "check", .account = "check", .mailbox = "check"};
    struct ledger_message message = {
        .message_id = "check",
        .sender = "check",
        .data = "check",
        .size = 5,
        .received_at = 1,
        .targets = &target,
        .target_count = 1,
        .recipients = &recipient,
        .recipient_count = 1,
    };
    struct ledger_state *found OD_CLEANUP(base_free) = NULL;
    int64_t random[2 * LEDGER_HASH_SIZE / sizeof(int64_t)];
    for (size_t i = 0; i < sizeof(random) / sizeof(random[0]); i++)
        if (!base_random(&random[i], error))
            return false;
    memcpy(message.identity, random, LEDGER_HASH_SIZE);
    memcpy(message.digest, (const char *)random + LEDGER_HASH_SIZE, LEDGER_HASH_SIZE);
    enum ledger_result result = ledger_read_state(ledger, &message, &found, error);
    if (result == LEDGER_BUSY)
        error_set(error, SQL_NOT_GRANTED);
    bool written = result == LEDGER_OK && write_delivery(ledger, &message, found, error);
    if (!written && result == LEDGER_OK) /* ledger_read_state has added its own */
        ledger_add_hint(ledger, SQL_DELIVERY, error);
    ledger_rollback(ledger);
    return written;
}
