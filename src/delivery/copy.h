/* SPDX-License-Identifier: ISC
 *
 * Makes a copy, from the search to the APPEND. */
#ifndef ONCEDROP_COPY_H
#define ONCEDROP_COPY_H

#include "delivery/made.h"

/* Makes the copy of this target, which must be held, as planned: searches for it if necessary, then appends it on the
 * same session. What it cannot store as it is, is left to fallback.h and quarantine.h. */
struct made copy_make(struct delivery_work *work, size_t target) OD_MUST;

#endif
