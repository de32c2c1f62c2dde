/* SPDX-License-Identifier: ISC
 *
 * A report as our answer to Postfix. */
#ifndef ONCEDROP_ANSWER_H
#define ONCEDROP_ANSWER_H

#include "delivery/outcome.h"

/* Writes the report as one line (base/output.h), unless an answer was given already. */
void answer_give(const struct report *report);

#endif
