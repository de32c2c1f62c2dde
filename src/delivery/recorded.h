/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_RECORDED_H
#define ONCEDROP_RECORDED_H

#include "delivery/work.h"

/* Returns true if nothing is left to record, and the request allows to skip the COMMIT: all copies are stored, and
 * today's record has each recipient. Common if an archive is replayed again. */
bool plan_is_recorded(const struct delivery_work *work) OD_MUST;

#endif
