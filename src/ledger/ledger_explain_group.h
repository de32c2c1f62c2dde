/* SPDX-License-Identifier: ISC
 *
 * Groups consecutive attempts of one kind, for ledger_explain.c. */
#ifndef ONCEDROP_LEDGER_EXPLAIN_GROUP_H
#define ONCEDROP_LEDGER_EXPLAIN_GROUP_H

#include "sql/sql.h"

struct explain_group {
    size_t first, last; /* rows of step explain_attempts */
    size_t of_delivery;
    bool cut_off;
    int64_t phases_ms[4], ms, queued_ms; /* the longest; queued_ms -1: unknown */
};

/* Returns the next group: same outcome and queue id, reasons that differ in numbers only. is_current: a separate
 * group, reported with its copy. *next: first row, advanced past the group. */
struct explain_group explain_group_next(const struct sql_rows *tries,
                                        bool (*is_current)(const void *context, size_t row), const void *context,
                                        size_t *next) OD_MUST;

/* Returns an attempt's reason, or else its outcome. */
const char *explain_group_reason(const struct sql_rows *tries, size_t row) OD_MUST;

#endif
