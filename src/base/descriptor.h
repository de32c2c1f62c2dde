/* SPDX-License-Identifier: ISC
 *
 * File descriptors: how many more a process may open. */
#ifndef ONCEDROP_DESCRIPTOR_H
#define ONCEDROP_DESCRIPTOR_H

#include "base/base.h"

/* The descriptors that something needs at the same time. */
struct descriptors {
    size_t count; /* at most DESCRIPTORS_MOST */
    int below;    /* their numbers must be less than this */
};

#define DESCRIPTORS_MOST 16

/* Returns whether that many can be opened now. Ask before calling a library that does not report a lack of descriptors, or cannot
 * use high numbers. False with the fault set, which names the limit. */
bool descriptors_available(struct descriptors wanted, struct fault *fault) OD_MUST;

#endif
