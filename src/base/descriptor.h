/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_DESCRIPTOR_H
#define ONCEDROP_DESCRIPTOR_H

#include "base/base.h"

/* Needed at the same time. */
struct descriptors {
    size_t count; /* at most DESCRIPTORS_MAX */
    int below;    /* limit of their numbers, exclusive */
};

#define DESCRIPTORS_MAX 16

/* Returns true if these can be opened now. Call it before libraries that do not report EMFILE, or cannot use high
 * numbers. */
bool descriptors_available(struct descriptors wanted, struct error *error) OD_MUST;

#endif
