/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_COPY_H
#define ONCEDROP_COPY_H

#include "delivery/copy_result.h"

/* Makes a copy: searches if the plan says so, appends on the same session, sets the result. Leaves refusals to
 * fallback.h and quarantine.h. Precondition: the copy is held. */
void copy_make(struct delivery_work *work, size_t target);

#endif
