/* SPDX-License-Identifier: ISC
 *
 * Looks for a copy in its mailbox before it is appended. */
#ifndef ONCEDROP_SEARCH_H
#define ONCEDROP_SEARCH_H

#include "delivery/made.h"

/* Opens the session for a search that comes later, and remembers a failure. The account must have a session available. */
void search_open(struct delivery_work *work, size_t target);

/* Searches for the message and, where there can be one, for the explanation in its place; in doubt on a new session.
 *
 * SEARCH_FOUND: *made is stored. SEARCH_TROUBLE: it is deferred, with the letter's doubt. SEARCH_ABSENT: it is
 * untouched. */
enum search_result search_copy(struct delivery_work *work, const struct letter *letter, struct made *made) OD_MUST;

/* After SEARCH_ABSENT: whether the message was lost, by the UID that is recorded. The fault is set on trouble. */
enum absence search_absence(struct delivery_work *work, size_t target, struct fault *fault) OD_MUST;

#endif
