/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_MAILBOX_CANDIDATES_H
#define ONCEDROP_MAILBOX_CANDIDATES_H

#include "imap/imap.h"
#include "mailbox/mailbox.h"

/* Compares messages of the open mailbox until one is the same (struct search). ids_first: fetch ids first, which are
 * small, since most are likely to differ. */
enum search_result mailbox_candidates(struct imap *imap, const struct search *search, bool ids_first,
                                      const uint32_t *uids, size_t count, uint32_t *ret_uid,
                                      struct error *error) OD_MUST;

/* Like mailbox_candidates(), for the newest of `exists` messages. */
enum search_result mailbox_candidates_newest(struct imap *imap, const struct search *search, uint32_t exists,
                                             uint32_t *ret_uid, struct error *error) OD_MUST;

#endif
