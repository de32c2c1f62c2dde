/* SPDX-License-Identifier: ISC
 *
 * One part of several messages, by one FETCH. */
#ifndef ONCEDROP_MAILBOX_FETCH_H
#define ONCEDROP_MAILBOX_FETCH_H

#include "imap/imap.h"
#include "mailbox/mailbox.h"

#define FETCH_MOST 100 /* messages in one command: for its line (RFC 2683, 3.2.1.5) */

/* Messages of the open mailbox, and what is told of them. */
struct mailbox_fetch {
    uint32_t first; /* the sequence number of the first; 0: they are known by UID */
    size_t count;
    uint32_t uids[FETCH_MOST];
    bool told[FETCH_MOST];                 /* there was an answer with at least a byte, ... */
    enum candidate candidates[FETCH_MOST]; /* ... whose result is this */
};

/* Has the reader read BODY[part] of each of them, and sets `told`, `candidates`, and, where they are known by their
 * sequence numbers, the UIDs. False: the fault is set. */
bool mailbox_fetch(struct imap *imap, struct mailbox_fetch *fetch, const char *part, const struct search_reader *reader,
                   struct fault *fault) OD_MUST;

#endif
