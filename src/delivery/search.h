/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_SEARCH_H
#define ONCEDROP_SEARCH_H

#include "delivery/copy_result.h"

/* Opens the session for a later search. Precondition: it is available. */
void search_open(struct delivery_work *work, size_t target);

/* Searches for the message, and for a notice in its place if there can be one; in doubt on a new session. SEARCH_PRESENT:
 * the result is stored. SEARCH_UNKNOWN: deferred, and never taken for absent. */
enum search_result search_copy(struct delivery_work *work, const struct append_item *item,
                               struct copy_result *result) OD_MUST;

/* After SEARCH_MISSING: finds out why by the recorded UID (presence_explain_missing). */
enum search_result search_explain_missing(struct delivery_work *work, size_t target, struct error *error) OD_MUST;

#endif
