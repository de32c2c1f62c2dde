/* SPDX-License-Identifier: ISC
 *
 * Makes a copy, from the search to the APPEND. */
#ifndef ONCEDROP_COPY_H
#define ONCEDROP_COPY_H

#include "delivery/made.h"

/* Makes the copy of this target, which must be held, as planned, and sets its result: searches for it if necessary, then
 * appends it on the same session. What cannot be stored as it is, is left to fallback.h and quarantine.h. */
void copy_make(struct delivery_work *work, size_t target);

#endif
