/* SPDX-License-Identifier: ISC
 *
 * A message of which all is on record, as most are where an archive is replayed again: then there is no commit. */
#ifndef ONCEDROP_SPARE_H
#define ONCEDROP_SPARE_H

#include "delivery/work.h"

/* Whether the request lets such a message be, and, by the plan, each recipient's copy is stored, as is a Sent copy that is due,
 * and today's record says so of each recipient. */
bool spare_all_told(const struct delivery_work *work) OD_MUST;

#endif
