/* SPDX-License-Identifier: ISC
 *
 * Parses the topmost Received field (RFC 5321, 4.4), which our own Postfix wrote. The client chose some of its
 * comments: its name, names in its certificate. The sender may have forged all others. Postfix's form:
 *
 *    [from HELO (NAME [ADDRESS]) ...] by HOST (MAIL_NAME) [with PROTOCOL] id QUEUE_ID [for <RECIPIENT>]; DATE */
#ifndef ONCEDROP_RECEIVED_H
#define ONCEDROP_RECEIVED_H

#include "message/message.h"

/* Returns the sender's SASL login (smtpd_sasl_authenticated_header), a new string; NULL if there is none, or it is
 * uncertain. "(Authenticated sender: LOGIN)" must be the last comment before "by", which no client can choose; the
 * protocol must imply authentication; Postfix must not have changed the login. queue_id, unless NULL, must match. */
char *received_login(const struct message *message, const char *queue_id) OD_MUST;

/* Reads the time in seconds since 1970 (0: unknown), and the queue id, a new string; if *queue_id is set, it must
 * match. Without such a field, both are untouched. */
void received_queue(const struct message *message, char **queue_id, int64_t *ret_time);

/* Returns our own Postfix's X-Original-To (flag O of pipe(8) and lmtp(8)), a new string or NULL. Fields below the
 * topmost Received may be forged. */
char *received_original(const struct message *message) OD_MUST;

#endif
