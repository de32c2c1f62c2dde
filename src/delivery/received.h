/* SPDX-License-Identifier: ISC
 *
 * Parses the topmost Received field (RFC 5321, 4.4) by its grammar. Our own Postfix wrote it, but the client chose the
 * contents of some comments: its name, the names in its certificate. All other Received fields may be forged by the
 * sender. */
#ifndef ONCEDROP_RECEIVED_H
#define ONCEDROP_RECEIVED_H

#include "message/message.h"

/* The login of the sender of the message, a new string; NULL if there was none, or if it is not certain. The field must
 * have the form that Postfix gives it with smtpd_sasl_authenticated_header = yes:
 *
 *    from HELO (NAME [ADDRESS]) ... (Authenticated sender: LOGIN) by HOST (MAIL_NAME) with PROTOCOL id QUEUE_ID ...
 *
 * The comment must be the last before "by", which no client can choose; the protocol must imply that the client has
 * authenticated; and the login must be one that Postfix did not have to change.
 *
 * queue_id  must match the field, otherwise the field is not our own Postfix's; NULL: unknown, not compared */
char *received_login(const struct message *message, const char *queue_id) OD_MUST;

/* Reads from the field, if it has Postfix's form, the queue id and the time:
 *
 *    [from HELO (NAME [ADDRESS]) ...] by HOST (MAIL_NAME) [with PROTOCOL] id QUEUE_ID [for <RECIPIENT>]; DATE
 *
 * *queue_id  if NULL, is set to a new string; otherwise it must match the field, or the field is not our own Postfix's
 * *ret_time  seconds since 1970, when Postfix received the message; 0: unknown. Both are untouched if there is no such
 *            field */
void received_queue(const struct message *message, char **queue_id, int64_t *ret_time);

/* The X-Original-To field prepended by our own Postfix (flag O of pipe(8) and lmtp(8)): it is above the topmost
 * Received. One further down, or in a message without Received, may be forged by the sender. A new string or NULL. */
char *received_original(const struct message *message) OD_MUST;

#endif
