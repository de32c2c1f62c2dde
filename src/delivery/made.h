/* SPDX-License-Identifier: ISC
 *
 * What became of a copy, and what each result of an APPEND means for the ledger and for Postfix. */
#ifndef ONCEDROP_MADE_H
#define ONCEDROP_MADE_H

#include "delivery/work.h"

enum quarantine {
    QUARANTINE_NONE,
    QUARANTINE_DUE,    /* an explanation is to be stored, with the message attached */
    QUARANTINE_STORED, /* it is */
};

/* The result of a copy. */
struct made {
    enum copy_state state;     /* COPY_NONE: it was not tried yet */
    bool doubt;                /* it may be there, whatever the state */
    uint32_t uidvalidity, uid; /* 0: unknown */
    bool never;                /* there is no such mailbox, and none can be made */
    const char *fallback;      /* the mailbox it was tried in last, if that is not the target's; NULL: it is */
    enum quarantine quarantine;
    struct report report; /* for the recipients of this mailbox */
};

/* Returns true if this target's copy can be made and settled before the deadline, even if its server does not respond. If not,
 * do not begin it: the deadline would end the process before it settles the earlier copies. */
bool made_in_time(const struct delivery_work *work, size_t target) OD_MUST;

/* What a result of APPEND means. UIDVALIDITY and UID must be set in *made; sets the rest of it. */
void made_by_append(const struct delivery_work *work, const struct letter *letter, enum append_result result,
                    const struct fault *fault, struct made *made);

#endif
