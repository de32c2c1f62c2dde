/* SPDX-License-Identifier: ISC
 *
 * A delivery that only says what it would do, and why (replay --dry-run). */
#ifndef ONCEDROP_PREVIEW_H
#define ONCEDROP_PREVIEW_H

#include "delivery/copies.h"

/* After copies_decide: sets the reports of the recipients whose copy would be made now. */
void preview_report(struct delivery_work *work);

#endif
