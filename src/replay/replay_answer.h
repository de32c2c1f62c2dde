/* SPDX-License-Identifier: ISC
 *
 * What became of a message, as JSON: the object that --json prints, with three members more for the parent process.
 *
 * name         set by the parent
 * error        why the message could not be loaded, else null
 * message_id   null if there is none; null, too, if the message could not be loaded
 * digest       hexadecimal; null likewise
 * size
 * recipients   an array of {recipient, status, dsn, text, account, mailbox, uid}; recipient "": the Sent copy; status and dsn are set when it is
 *              printed, the others as in struct delivery_recipient, "" or 0 if unknown
 * load         an enum replay_load, not printed; in each recipient: outcome, an enum outcome, not printed */
#ifndef ONCEDROP_REPLAY_ANSWER_H
#define ONCEDROP_REPLAY_ANSWER_H

#include <jansson.h>

#include "delivery/outcome.h"
#include "message/message.h"

enum replay_load {
    REPLAY_LOADED,
    REPLAY_NOTHING, /* nothing is left to do */
    REPLAY_TROUBLE, /* trouble of our own; may work later (fault set) */
    REPLAY_BAD,     /* this will never work (fault set) */
};

/* A JSON string from any bytes: invalid UTF-8 is replaced by U+FFFD. */
json_t *replay_json_text(const char *text) OD_MUST;

/* A new answer without recipients. error: "" if there is none. message: NULL if it could not be loaded. */
json_t *replay_answer_new(enum replay_load load, const char *error, const struct message *message) OD_MUST;

/* Adds a recipient. account, mailbox: NULL if unknown. */
void replay_answer_add(json_t *answer, const char *recipient, const struct report *report, const char *account,
                       const char *mailbox, uint32_t uid);

/* Replaces outcome and text of a recipient. */
void replay_answer_change(json_t *recipient, enum outcome outcome, const char *text);

/* Members of an answer or of a recipient; "" if it is null. */
enum replay_load replay_answer_load(const json_t *answer) OD_MUST;
enum outcome replay_answer_outcome(const json_t *recipient) OD_MUST;
const char *replay_answer_text(const json_t *object, const char *member) OD_MUST;
json_t *replay_answer_recipients(const json_t *answer) OD_MUST; /* borrowed */

#endif
