/* SPDX-License-Identifier: ISC
 *
 * delivery.refused = quarantine: after a server refused a message for longer than delivery.refuse_after, stores a
 * notice with the message attached (decode/notice.h). The notice is a copy like any other: claimed, held, searched
 * for in doubt. */
#ifndef ONCEDROP_QUARANTINE_H
#define ONCEDROP_QUARANTINE_H

#include "delivery/copy_result.h"

/* If the copy is QUARANTINE_DUE, searches for the message, which the refusal left in doubt, appends the notice, and
 * replaces the result. Failures defer: a refused notice never bounces the message. Precondition: the copy is held. */
void quarantine_append(struct delivery_work *work, size_t target);

#endif
