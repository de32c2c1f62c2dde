/* SPDX-License-Identifier: ISC
 *
 * Each question is one step, restricted to what was asked for. */
#include "ledger/ledger_report.h"

#include <string.h>

#include "ledger/ledger_session.h"

/* A filter: none unless it is asked for. */
struct ledger_table *ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct fault *fault)
{
    bool unfinished = filter->state != NULL && strcmp(filter->state, "unfinished") == 0;
    bool is_time = filter->since != NULL && filter->since[0] == '@';
    return ledger_query(ledger,
                        SQL_STEP(list, .state = SQL_TEXT(unfinished ? NULL : filter->state),
                                 .unfinished = unfinished ? SQL_TRUTH(true) : SQL_NONE,
                                 .since_ms = SQL_TEXT(is_time ? NULL : filter->since),
                                 .since = SQL_TEXT(is_time ? filter->since : NULL),
                                 .recipient = SQL_TEXT(filter->recipient), .sender = SQL_TEXT(filter->sender),
                                 .queue_id = SQL_TEXT(filter->queue_id), .delay_ms = SQL_TEXT(filter->delay),
                                 .limit = SQL_NUMBER(filter->limit)),
                        fault);
}

struct ledger_table *ledger_totals(struct ledger *ledger, struct fault *fault)
{
    return ledger_query(ledger, SQL_STEP(totals), fault);
}

struct ledger_table *ledger_hours(struct ledger *ledger, int64_t hours, struct fault *fault)
{
    return ledger_query(ledger, SQL_STEP(hours, .hours = SQL_NUMBER(hours)), fault);
}
