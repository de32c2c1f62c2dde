/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_check.h"

#include <string.h>

#include "decode/decode.h"
#include "ledger/ledger_claim.h"
#include "ledger/ledger_lock.h"
#include "ledger/ledger_server.h"

const char *ledger_check_secured(const struct ledger *ledger, bool *ret_good)
{
    return sql_secured(ledger->sql, ret_good);
}

enum sql_proof ledger_check_proof(const struct config *config, bool connects, size_t n, const char **ret_name,
                                  struct fault *ret)
{
    const struct sql_engine *engine = sql_load(config, ret);
    if (engine != NULL)
        return engine->prove(config, connects, n, ret_name, ret);
    *ret_name = "database";
    return SQL_PROOF_BAD;
}

static bool write_delivery(struct ledger *ledger, const struct ledger_message *message,
                           const struct ledger_found *found, struct fault *fault)
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
    const struct ledger_made made = {.target = 0, .state = COPY_STORED};
    struct ledger_answer answer = {.recipient = 0, .outcome = "stored", .finished = true};
    const struct ledger_answers answers = {.answers = &answer, .count = 1};
    struct ledger_claim *claim OD_CLEANUP(ledger_claim_free) = ledger_claim_new(message, found, &copy, 1);
    ledger_add_begin_under(ledger);
    ledger_add_server(ledger);
    ledger_add_claim(ledger, claim, found, answers, &decoded);
    ledger_add_settle(ledger, claim, &made, 1, answers);
    bool written = sql_send(ledger->sql, fault) && sql_passed(ledger->sql, sql_mark(ledger->sql), fault);
    sql_finish(ledger->sql);
    return written;
}

bool ledger_check_write(struct ledger *ledger, struct fault *fault)
{
    static const struct ledger_target target = {.account = "check",
                                                .mailbox = "check",
                                                .role = COPY_SENT,
                                                .refusal = "check"};
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
    struct ledger_found *found OD_CLEANUP(base_free) = NULL;
    int64_t random[2 * LEDGER_HASH_SIZE / sizeof(int64_t)];
    for (size_t i = 0; i < sizeof(random) / sizeof(random[0]); i++)
        if (!base_random(&random[i], fault))
            return false;
    memcpy(message.identity, random, LEDGER_HASH_SIZE);
    memcpy(message.digest, (const char *)random + LEDGER_HASH_SIZE, LEDGER_HASH_SIZE);
    enum ledger_result result = ledger_look(ledger, &message, &found, fault);
    if (result == LEDGER_BUSY)
        fault_set(fault, "the lock is not granted although it is free");
    bool written = result == LEDGER_OK && write_delivery(ledger, &message, found, fault);
    if (!written && result == LEDGER_OK) /* ledger_look has added its own */
        ledger_add_remedy(ledger, SQL_DELIVERY, fault);
    ledger_rollback(ledger);
    return written;
}
