/* SPDX-License-Identifier: ISC
 *
 * Makes a copy: the search in doubt, the APPEND, and what its result means for the ledger and for Postfix. */
#ifndef ONCEDROP_APPEND_H
#define ONCEDROP_APPEND_H

#include "delivery/work.h"
#include "message/message_comparison.h"

enum quarantine { QUARANTINE_NONE, QUARANTINE_DUE, QUARANTINE_STORED };

/* The result of a copy. */
struct made {
    enum copy_state state;
    bool doubt;                 /* it may be there, whatever the state */
    uint32_t uidvalidity, uid;  /* 0: unknown */
    bool never;                 /* there is no such mailbox, and none can be made */
    const char *filed;          /* the mailbox it is in instead of the target's; NULL: it is in the target's */
    enum quarantine quarantine; /* whether it is to be stored as the attachment of an explanation, or is */
    struct report report;       /* for the recipients of this mailbox */
};

/* The same in the form of ledger_settle; `made` must outlive it. */
struct ledger_made append_settled(size_t target, const struct made *made) OD_MUST;

/* Whether there is time to make another copy, even if its server does not answer, and to settle it. Otherwise the
 * deadline would leave all copies made so far unsettled. */
bool append_in_time(const struct config *config) OD_MUST;

/* Makes the copy of the target at this index, which must be held, as planned: searches for it if necessary, then
 * appends it on the same session. */
struct made append_copy(struct delivery_work *work, size_t place) OD_MUST;

/* Searches for the copy, in doubt on a new session. SEARCH_FOUND: *made is stored. SEARCH_TROUBLE: it is deferred; doubt
 * as for append_now. SEARCH_ABSENT: *made is untouched. */
enum search_result append_search(struct delivery_work *work, size_t place, bool doubt, struct made *made) OD_MUST;

/* The APPEND alone, of ahead->instead if that is set. doubt: whether an earlier attempt may have stored the copy. */
struct made append_now(struct delivery_work *work, size_t place, bool doubt) OD_MUST;

/* Compares candidates; NULL: reads nothing. */
struct search_reader append_reader(struct message_comparison *comparison) OD_MUST;

/* Where all of these search and append: the target's mailbox, or the fallback in its place. */
static inline const char *append_mailbox(const struct delivery_work *work, size_t place)
{
    const char *fallback = work->ahead[place].fallback;
    return fallback != NULL ? fallback : work->targets.list[place].mailbox;
}

/* The APPEND of a target in steps, so that several are under way at the same time (append_ahead.c). The target's account
 * must have a session available. */

/* For a copy that is to be searched for first: only opens the session, and remembers a failure. */
void append_open(struct delivery_work *work, size_t place);

/* Opens the session and sends the command line. Nothing can be stored by this (mailbox_append_begin), so the claim need
 * not be committed yet. False: no session could be opened; append_collect gives the result, unless nothing was begun since
 * the sessions of others are in the way, or because it took longer than limit_ms (mailbox_open) for the first time: then
 * it is put off. */
bool append_begin(struct delivery_work *work, size_t place, enum sessions_age age, int64_t limit_ms);

/* Waits for the server to be ready, at most until until_ms, and sends the message. The copy must be held. */
void append_feed(struct delivery_work *work, size_t place, int64_t until_ms);

/* Waits for the answer. A kept session that turns out to be closed before anything was sent is replaced once by a new one,
 * if there is time; one that is silent until until_ms only if nobody waits for it (alone). doubt: as found out before:
 * whether an earlier attempt may have stored the copy. */
struct made append_collect(struct delivery_work *work, size_t place, int64_t until_ms, bool alone, bool doubt) OD_MUST;

/* Instead of append_feed: nothing is sent, and the session ends, as the server waits for the message. */
void append_cancel(struct delivery_work *work, size_t place);

/* What a result means; doubt as above. */
void append_take_result(const struct delivery_work *work, size_t place, enum append_result result, bool doubt,
                        const struct fault *fault, struct made *made);

#endif
