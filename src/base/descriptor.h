/* SPDX-License-Identifier: ISC
 *
 * File descriptors: how many more a process may open. */
#ifndef ONCEDROP_DESCRIPTOR_H
#define ONCEDROP_DESCRIPTOR_H

#include "base/base.h"

/* What something has open at the same time. */
struct descriptors {
    size_t count; /* at most DESCRIPTORS_MOST */
    int below;    /* their numbers must be less than this */
};

#define DESCRIPTORS_MOST 16

/* Whether that many can be opened now: for libraries that do not report the lack of them, or cannot use every number. False with
 * the fault set, which names the limit. */
bool descriptors_available(struct descriptors wanted, struct fault *fault) OD_MUST;

#endif
