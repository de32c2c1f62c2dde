/* SPDX-License-Identifier: ISC
 *
 * The tries of a message, for ledger_why.c: those of one kind without another between them are told together. */
#ifndef ONCEDROP_LEDGER_WHY_GROUP_H
#define ONCEDROP_LEDGER_WHY_GROUP_H

#include "sql/sql.h"

struct why_group {
    size_t first, last;                  /* rows of step why_tries */
    size_t of_delivery;                  /* how many tries the delivery had */
    bool cut_off;                        /* one of them has not ended */
    int64_t phases_ms[4], ms, queued_ms; /* the longest; queued_ms: -1: not known */
};

/* Tries of one kind have the same outcome under the same queue id, for reasons that differ in numbers only. current: the try
 * in this row is told elsewhere, and stands alone. *next: the first row; becomes the one behind the group. */
struct why_group why_group_next(const struct sql_rows *tries, bool (*is_current)(const void *context, size_t row),
                                const void *context, size_t *next) OD_MUST;

/* What a try's end is told by: its reason, or its outcome. */
const char *why_group_reason(const struct sql_rows *tries, size_t row) OD_MUST;

#endif
