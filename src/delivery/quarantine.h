/* SPDX-License-Identifier: ISC
 *
 * delivery.rejected = quarantine: after a server refused a message for longer than delivery.reject_after, stores a
 * notice with the message attached (decode/explanation.h). The notice is a copy like any other: claimed, held, searched
 * for in doubt. */
#ifndef ONCEDROP_QUARANTINE_H
#define ONCEDROP_QUARANTINE_H

#include "delivery/made.h"

/* If the copy is QUARANTINE_DUE, searches for the message, which the refusal left in doubt, appends the notice, and
 * replaces the result. Failures defer: a refused notice never bounces the message. Precondition: the copy is held. */
void quarantine_append(struct delivery_work *work, size_t target);

#endif
