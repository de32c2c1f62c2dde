/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_SENT_H
#define ONCEDROP_SENT_H

#include "delivery/work.h"

/* Makes the Sent copy, after the recipients' copies. If it is not held, or time is short, releases its claim. first:
 * nothing was appended before, so time is no reason. */
void sent_deliver(struct delivery_work *work, bool held, bool first);

#endif
