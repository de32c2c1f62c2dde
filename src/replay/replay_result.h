/* SPDX-License-Identifier: ISC
 *
 * The result of a message: the object that --json prints, with three members more for the parent.
 *
 * name         set by the parent
 * error        why the message could not be loaded, else null
 * message_id   null if there is none or it is not loaded
 * digest       hexadecimal; null if not loaded
 * size
 * recipients   array of {recipient, status, dsn, text, account, mailbox, uid}; recipient "": the Sent copy; status,
 *              dsn: set when printed; others: "" or 0 if unknown
 * load         enum replay_load, not printed; in each recipient: outcome, enum outcome, not printed */
#ifndef ONCEDROP_REPLAY_RESULT_H
#define ONCEDROP_REPLAY_RESULT_H

#include <jansson.h>

#include "delivery/outcome.h"
#include "message/message.h"

enum replay_load {
    REPLAY_LOADED,
    REPLAY_NOTHING, /* nothing left to do */
    REPLAY_ERROR,   /* temporary failure, error set */
    REPLAY_BAD,     /* permanent failure, error set */
};

/* Returns a JSON string; U+FFFD replaces invalid UTF-8. */
json_t *replay_json_text(const char *text) OD_MUST;

/* error: or "". message: NULL if not loaded. */
json_t *replay_result_new(enum replay_load load, const char *error, const struct message *message) OD_MUST;

/* account, mailbox: or NULL. */
void replay_result_add(json_t *result, const char *recipient, const struct report *report, const char *account,
                       const char *mailbox, uint32_t uid);

void replay_result_change(json_t *recipient, enum outcome outcome, const char *text);

/* Return members of a result or recipient; "" for null. */
enum replay_load replay_result_load(const json_t *result) OD_MUST;
enum outcome replay_result_outcome(const json_t *recipient) OD_MUST;
const char *replay_result_text(const json_t *object, const char *member) OD_MUST;
json_t *replay_result_recipients(const json_t *result) OD_MUST; /* borrowed */

#endif
