/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_MAILBOX_CANDIDATES_H
#define ONCEDROP_MAILBOX_CANDIDATES_H

#include "imap/imap.h"
#include "mailbox/mailbox.h"

/* What is read first, to leave out messages with another Message-ID. Servers keep single fields in a cache. Dovecot 2.3,
 * killed while it stored messages, was seen to report one message's Message-ID for another, and to search by it. */
enum ids_first {
    IDS_NONE,    /* nothing: each message is compared at once */
    IDS_FIELDS,  /* BODY[HEADER.FIELDS (MESSAGE-ID)]: small, but may be wrong */
    IDS_HEADERS, /* BODY[HEADER], which servers read from the message itself */
};

/* Compares messages of the open mailbox until one is the same (struct search). With IDS_FIELDS a message that is found
 * is ours, but SEARCH_MISSING is not certain. */
enum search_result mailbox_candidates(struct imap *imap, const struct search *search, enum ids_first ids_first,
                                      const uint32_t *uids, size_t count, uint32_t *ret_uid,
                                      struct error *error) OD_MUST;

/* Like mailbox_candidates() with IDS_FIELDS, for the newest of `exists` messages. */
enum search_result mailbox_candidates_newest(struct imap *imap, const struct search *search, uint32_t exists,
                                             uint32_t *ret_uid, struct error *error) OD_MUST;

#endif
