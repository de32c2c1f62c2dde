/* SPDX-License-Identifier: ISC
 *
 * The envelope of a delivery to one recipient, by `deliver` or XDELIVER. */
#ifndef ONCEDROP_ENVELOPE_H
#define ONCEDROP_ENVELOPE_H

#include "delivery/delivery.h"

/* See struct delivery_request. NULL: unknown. */
struct envelope {
    char *sender;
    char *recipient;
    char *original;
    char *queue_id;
    char *sasl_user;
    char *only_login;
    int64_t size; /* minimum, in bytes; 0: unknown */
    int64_t queued_at;
};

void envelope_clear(struct envelope *envelope);

/* Returns true if the message seems complete, and is not too large. Otherwise sets the report, by the read's error if
 * it failed. */
bool envelope_check(const struct envelope *envelope, enum message_result result, const struct message *message,
                    const struct error *error, struct report *report) OD_MUST;

/* Takes unknown members from the header. Returns false with the report set if there is no recipient. */
bool envelope_complete(struct envelope *envelope, const struct message *message, struct report *report) OD_MUST;

/* Returns a request without configuration and sessions; sets *recipient. Both pointers must outlive it. */
struct delivery_request envelope_request(const struct envelope *envelope, const struct message *message,
                                         struct delivery_recipient *recipient) OD_MUST;

#endif
