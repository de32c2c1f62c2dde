/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_DESCRIPTOR_H
#define ONCEDROP_DESCRIPTOR_H

#include "base/base.h"

/* Needed at the same time. */
struct descriptors {
    size_t count; /* at most DESCRIPTORS_MOST */
    int below;    /* limit of their numbers, exclusive */
};

#define DESCRIPTORS_MOST 16

/* Returns true if these can be opened now. Call it before libraries that do not report EMFILE, or cannot use high
 * numbers. */
bool descriptors_available(struct descriptors wanted, struct fault *fault) OD_MUST;

#endif
