/* SPDX-License-Identifier: ISC
 *
 * What the topmost Received field says (RFC 5321, 4.4), read by its grammar: it is the one that our own Postfix wrote,
 * but what stands in its comments was chosen by the client: its name, the names in its certificate. The fields below are
 * the sender's to invent. */
#ifndef ONCEDROP_RECEIVED_H
#define ONCEDROP_RECEIVED_H

#include "message/message.h"

/* The login of whoever sent the message, a new string, or NULL: nobody, or not certain. Only in the form that Postfix
 * gives it with smtpd_sasl_authenticated_header = yes:
 *
 *     from HELO (NAME [ADDRESS]) ... (Authenticated sender: LOGIN) by HOST (MAIL_NAME) with PROTOCOL id QUEUE_ID ...
 *
 * The comment is the last before "by", which no client's words are; the protocol is one of those that say of themselves
 * that the client had authenticated; the login is one that Postfix had nothing to change in.
 *
 * queue_id  the field must have it, or it is not our own Postfix's; NULL: not told, and the field is taken for that */
char *received_login(const struct message *message, const char *queue_id) OD_MUST;

/* What the field says of the queue file that the message is in, if it has the form of Postfix's:
 *
 *     [from HELO (NAME [ADDRESS]) ...] by HOST (MAIL_NAME) [with PROTOCOL] id QUEUE_ID [for <RECIPIENT>]; DATE
 *
 * *queue_id  NULL: is set to a new string. Else the field must have it, or it is not our own Postfix's
 * *ret_time  seconds since 1970, when Postfix received it; 0: not known. Both are untouched without such a field */
void received_queue(const struct message *message, char **queue_id, int64_t *ret_time);

/* X-Original-To as our own Postfix prepends it (flag O of pipe(8) and lmtp(8)): above the topmost Received. One further
 * down, or in a message without Received, is the sender's to invent. A new string or NULL. */
char *received_original(const struct message *message) OD_MUST;

#endif
