/* SPDX-License-Identifier: ISC
 *
 * The envelope of a delivery to one recipient, as `deliver` and the command XDELIVER of the service get it, and what must
 * be true of its message. */
#ifndef ONCEDROP_ENVELOPE_H
#define ONCEDROP_ENVELOPE_H

#include "delivery/delivery.h"

/* All strings are its own; NULL: not known. */
struct envelope {
    char *sender;
    char *recipient;
    char *original; /* before Postfix rewrote it */
    char *queue_id;
    char *sasl_user;
    char *only_login;  /* see delivery.h */
    int64_t size;      /* minimum number of bytes to expect; 0: unknown */
    int64_t queued_at; /* seconds since 1970; 0: unknown */
};

void envelope_clear(struct envelope *envelope);

/* Whether the message that was read (or why not: the fault) can be delivered: it is complete, as far as can be seen, and
 * not too large. Otherwise sets the report. */
bool envelope_check(const struct envelope *envelope, enum message_result result, const struct message *message,
                    const struct fault *fault, struct report *report) OD_MUST;

/* Takes from the header what is not known yet. False with the report set if there is no recipient. */
bool envelope_complete(struct envelope *envelope, const struct message *message, struct report *report) OD_MUST;

/* The request to deliver to this recipient, whose address is set here, without configuration and sessions. Envelope and
 * recipient must outlive it. message: NULL if there is none, for delivery_refuse. */
struct delivery_request envelope_request(const struct envelope *envelope, const struct message *message,
                                         struct delivery_recipient *recipient) OD_MUST;

#endif
