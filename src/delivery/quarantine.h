/* SPDX-License-Identifier: ISC
 *
 * delivery.rejected = quarantine: in place of a message whose content the server refuses for longer than reject_after,
 * an explanation with the message attached is stored (decode/explanation.h). It is a copy like any other: made within
 * the same claim and hold, and searched for when in doubt. */
#ifndef ONCEDROP_QUARANTINE_H
#define ONCEDROP_QUARANTINE_H

#include "delivery/append.h"

/* Whether the content of this target was refused for so long that something else must be done. A Sent copy does not
 * wait for longer than it would be retried. */
bool quarantine_is_time(const struct delivery_work *work, size_t place) OD_MUST;

/* If `made` says that the copy is to be quarantined (QUARANTINE_DUE), and there is time, appends the explanation and
 * replaces the result; but first searches for the message, as after any refusal that leaves a doubt. Otherwise, and if
 * that fails, the copy is deferred: never is a message bounced because our own explanation was refused. The copy must be
 * held. */
void quarantine_append(struct delivery_work *work, size_t place, struct made *made);

/* Searches for the explanation on this session, where the copy itself was not found. As mailbox_search; SEARCH_ABSENT
 * at once where none can be: without delivery.rejected = quarantine, or where nothing is in doubt and there is no other copy
 * that may have become one. */
enum search_result quarantine_search(struct mailbox *mailbox, const struct delivery_work *work, size_t place,
                                     struct made *made, struct fault *fault) OD_MUST;

#endif
