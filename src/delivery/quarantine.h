/* SPDX-License-Identifier: ISC
 *
 * delivery.rejected = quarantine: in place of a message whose content the server refuses for longer than reject_after,
 * an explanation with the message attached is stored (decode/explanation.h). It is a copy like any other: made within
 * the same claim and hold, and searched for when in doubt (search.c). */
#ifndef ONCEDROP_QUARANTINE_H
#define ONCEDROP_QUARANTINE_H

#include "delivery/made.h"

/* If the result of this target says that the copy is to be quarantined (QUARANTINE_DUE), and there is time, appends
 * the explanation and replaces the result; but first searches for the message, as after any refusal that leaves a
 * doubt. Otherwise, and if that fails, the copy is deferred: never is a message bounced because our own explanation
 * was refused. The copy must be held. */
void quarantine_append(struct delivery_work *work, size_t target);

#endif
