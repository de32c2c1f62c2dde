/* SPDX-License-Identifier: ISC
 *
 * Messages of the open mailbox that may be the one searched for. */
#ifndef ONCEDROP_MAILBOX_CANDIDATES_H
#define ONCEDROP_MAILBOX_CANDIDATES_H

#include "imap/imap.h"
#include "mailbox/mailbox.h"

/* Compares these messages until one is the same (struct search). SEARCH_TROUBLE: the fault is set.
 *
 * ids_first  most of them are likely to be others by their ids, which are asked for first */
enum search_result mailbox_candidates(struct imap *imap, const struct search *search, bool ids_first,
                                      const uint32_t *uids, size_t count, uint32_t *ret_uid,
                                      struct fault *fault) OD_MUST;

/* The same for the newest messages, as many as the search says, of `exists` in the mailbox. */
enum search_result mailbox_candidates_newest(struct imap *imap, const struct search *search, uint32_t exists,
                                             uint32_t *ret_uid, struct fault *fault) OD_MUST;

#endif
