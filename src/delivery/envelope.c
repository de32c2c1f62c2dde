/* SPDX-License-Identifier: ISC */
#include "delivery/envelope.h"

#include <string.h>

#include "delivery/received.h"
#include "route/route.h"

void envelope_clear(struct envelope *envelope)
{
    base_free(&envelope->sender);
    base_free(&envelope->recipient);
    base_free(&envelope->original);
    base_free(&envelope->queue_id);
    base_free(&envelope->sasl_user);
    base_free(&envelope->only_login);
}

bool envelope_check(const struct envelope *envelope, enum message_result result, const struct message *message,
                    const struct error *error, struct report *report)
{
    /* A pipe that was cut ends like a complete one. Postfix's ${size} includes its record marks: it is inexact. */
    bool cut_short = result == MESSAGE_OK && (int64_t)message->size + envelope->size / 32 + 1024 < envelope->size;
    if (result == MESSAGE_EMPTY)
        report_set(report, OUTCOME_TEMPFAIL, "nothing on standard input: no message to deliver");
    else if (result != MESSAGE_OK)
        report_set(report, result == MESSAGE_TOO_LARGE ? OUTCOME_TOO_LARGE : OUTCOME_TEMPFAIL, "%s", error->text);
    else if (cut_short)
        report_set(report, OUTCOME_TEMPFAIL, "only %zu of about %lld bytes arrived: the message is cut short",
                   message->received_size, (long long)envelope->size);
    else
        return true;
    return false;
}

static void from_header(char **field, const struct message *message, const char *name)
{
    if (*field == NULL)
        *field = message_header(message, name);
}

/* Without Received, the message did not come through Postfix: our caller wrote the field. */
static void original_from_header(char **field, const struct message *message)
{
    char *received OD_CLEANUP(base_free) = message_header(message, "Received");
    if (received == NULL)
        from_header(field, message, "X-Original-To");
    else if (*field == NULL)
        *field = received_original(message);
}

static void strip_brackets(char *text)
{
    size_t length = strlen(text);
    if (length >= 2 && text[0] == '<' && text[length - 1] == '>') {
        memmove(text, text + 1, length - 2);
        text[length - 2] = '\0';
    }
}

bool envelope_complete(struct envelope *envelope, const struct message *message, struct report *report)
{
    from_header(&envelope->sender, message, "Return-Path");
    from_header(&envelope->recipient, message, "Delivered-To");
    from_header(&envelope->recipient, message, "X-Original-To");
    original_from_header(&envelope->original, message);
    if (envelope->queue_id != NULL && envelope->queue_id[0] == '\0')
        base_free(&envelope->queue_id);
    received_queue(message, &envelope->queue_id, &envelope->queued_at);
    if (envelope->sender == NULL)
        envelope->sender = base_strdup("");
    strip_brackets(envelope->sender);
    if (envelope->recipient == NULL || envelope->recipient[0] == '\0') {
        report_set(report, OUTCOME_CONFIG, "no recipient: give -d, RECIPIENT in the environment, or Delivered-To");
        return false;
    }
    char *clean = address_clean(envelope->recipient);
    base_free(&envelope->recipient);
    envelope->recipient = clean;
    return true;
}

struct delivery_request envelope_request(const struct envelope *envelope, const struct message *message,
                                         struct delivery_recipient *recipient)
{
    *recipient = (struct delivery_recipient){
        .address = envelope->recipient != NULL ? envelope->recipient : "",
        .original = envelope->original,
    };
    return (struct delivery_request){
        .message = message,
        .sender = envelope->sender,
        .sasl_user = envelope->sasl_user,
        .only_login = envelope->only_login,
        .queue_id = envelope->queue_id,
        .queued_at = envelope->queued_at,
        .recipients = recipient,
        .recipient_count = 1,
    };
}
