/* SPDX-License-Identifier: ISC */
#include "replay/replay.h"

#include <glib.h>

json_t *replay_json_text(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

json_t *replay_result_new(enum replay_load load, const char *error, const struct message *message)
{
    char digest[2 * MESSAGE_DIGEST_SIZE + 1] = "";
    const char *id = message != NULL ? message->message_id : NULL;
    if (message != NULL)
        base_hex(message->digest, MESSAGE_DIGEST_SIZE, digest);
    return json_pack("{s:n, s:o, s:o, s:o, s:I, s:[], s:i}", "name", "error",
                     error[0] != '\0' ? replay_json_text(error) : json_null(), "message_id",
                     id != NULL ? replay_json_text(id) : json_null(), "digest",
                     message != NULL ? json_string(digest) : json_null(), "size",
                     (json_int_t)(message != NULL ? message->size : 0), "recipients", "load", (int)load);
}

void replay_result_add(json_t *result, const char *recipient, const struct report *report, const char *account,
                       const char *mailbox, uint32_t uid)
{
    json_array_append_new(replay_result_recipients(result),
                          json_pack("{s:o, s:n, s:n, s:o, s:o, s:o, s:I, s:i}", "recipient",
                                    replay_json_text(recipient), "status", "dsn", "text",
                                    replay_json_text(report->text), "account",
                                    replay_json_text(account != NULL ? account : ""), "mailbox",
                                    replay_json_text(mailbox != NULL ? mailbox : ""), "uid", (json_int_t)uid, "outcome",
                                    (int)report->outcome));
}

void replay_result_change(json_t *recipient, enum outcome outcome, const char *text)
{
    json_object_set_new(recipient, "outcome", json_integer(outcome));
    json_object_set_new(recipient, "text", replay_json_text(text));
}

enum replay_load replay_result_load(const json_t *result)
{
    return (enum replay_load)json_integer_value(json_object_get(result, "load"));
}

enum outcome replay_result_outcome(const json_t *recipient)
{
    return (enum outcome)json_integer_value(json_object_get(recipient, "outcome"));
}

const char *replay_result_text(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text != NULL ? text : "";
}

json_t *replay_result_recipients(const json_t *result)
{
    return json_object_get(result, "recipients");
}
