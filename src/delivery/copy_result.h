/* SPDX-License-Identifier: ISC
 *
 * The result of a copy. Decides what an APPEND's result means: stored, deferred, bounced, or a notice instead (quarantine). */
#ifndef ONCEDROP_COPY_RESULT_H
#define ONCEDROP_COPY_RESULT_H

#include "delivery/work.h"

enum quarantine {
    QUARANTINE_NONE,
    QUARANTINE_DUE, /* store a notice with the message attached */
    QUARANTINE_STORED,
};

/* The result of a copy. */
struct copy_result {
    enum copy_state state;     /* not tried yet if COPY_NONE */
    bool doubt;                /* it may be there, in any state */
    uint32_t uidvalidity, uid; /* 0: unknown */
    bool impossible;           /* the mailbox cannot be created */
    const char *fallback;      /* mailbox tried last; NULL: the target's */
    enum quarantine quarantine;
    struct report report;
};

/* Returns the time that a copy needs at most, even if its server times out, and its settling. */
int64_t append_time_ms(const struct delivery_work *work, size_t target) OD_MUST;

/* Returns true if the copy can be made and settled before the deadline, even if its server times out: the deadline
 * would end the process before it settles earlier copies. */
bool append_fits_deadline(const struct delivery_work *work, size_t target) OD_MUST;

/* Sets the result by that of an APPEND, except UIDVALIDITY and UID. */
void copy_result_of_append(const struct delivery_work *work, const struct append_item *item,
                           enum append_result append_result, const struct error *error, struct copy_result *result);

#endif
