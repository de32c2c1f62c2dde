/* SPDX-License-Identifier: ISC
 *
 * Whose mailbox gets the Sent copy, if there is one. */
#ifndef ONCEDROP_SENDER_H
#define ONCEDROP_SENDER_H

#include "delivery/delivery.h"

/* Finds the sender's account and Sent mailbox, as far as route.sent_copy allows. The message must be decoded, and the
 * recipients routed:
 *
 * authenticated  the SASL login (that of struct delivery, even if it says that there was none; else received_login) maps
 *                to the same account as the From address
 * from           the From address maps to an account: by account_query, or else its domain is that of one of the
 *                recipients (a template alone would map any stranger to an account)
 *
 * With only_login there is no Sent copy: nothing that the caller or the message says about the sender can be trusted.
 *
 * ROUTE_OK: *ret is set. ROUTE_NONE: no Sent copy is due, or From could not be decoded. ROUTE_TROUBLE: unknown (fault
 * set). */
enum route_result sender_route(const struct delivery *delivery, struct route *ret, struct fault *fault) OD_MUST;

#endif
