/* SPDX-License-Identifier: ISC
 *
 * Makes the Sent copy, after the inboxes. It never delays an inbox and never bounces a message. */
#ifndef ONCEDROP_SENT_H
#define ONCEDROP_SENT_H

#include "delivery/work.h"

/* Appends the copy and settles it. If it is not held, or there is no time left, it is put off: its claim is abandoned.
 * first: nothing was appended before; the copy is then tried however little time is left. */
void sent_deliver(struct delivery_work *work, bool held, bool first);

#endif
