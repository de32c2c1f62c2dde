/* SPDX-License-Identifier: ISC
 *
 * What the topmost Received field says: the one that our own Postfix wrote. The others are the sender's to invent. */
#ifndef ONCEDROP_RECEIVED_H
#define ONCEDROP_RECEIVED_H

#include "message/message.h"

/* The SASL login that smtpd_sasl_authenticated_header = yes puts there; a new string or NULL. */
char *received_login(const struct message *message) OD_MUST;

/* The queue id, for the log and the record when nobody told it; a new string or NULL. */
char *received_queue_id(const struct message *message) OD_MUST;

#endif
