/* SPDX-License-Identifier: ISC
 *
 * From a held claim to what is known of the copy: the search in doubt, the APPEND, and what its answer means for the
 * ledger and for Postfix. */
#ifndef ONCEDROP_APPEND_H
#define ONCEDROP_APPEND_H

#include "delivery/copies.h"

/* Makes one held copy: looks for it when in doubt, else appends it. Sets copy->new_* and error, and the report that
 * the recipients of this copy are to be given. */
void append_copy(struct delivery_work *work, struct ledger_copy *copy, struct report *report);

#endif
