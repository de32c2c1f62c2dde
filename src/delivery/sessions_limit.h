/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_SESSIONS_LIMIT_H
#define ONCEDROP_SESSIONS_LIMIT_H

#include "base/config.h"

/* Returns a process's share of imap.sessions, at least 1, limited by its descriptors; the server that needs most counts
 * (mailbox_descriptors). Raises RLIMIT_NOFILE if necessary and allowed. */
size_t sessions_limit(const struct config *config, size_t processes) OD_MUST;

/* Returns true if one process can have imap.sessions; else sets *ret_limit to sessions_limit(), and the error. */
bool sessions_suffice(const struct config *config, size_t *ret_limit, struct error *error) OD_MUST;

#endif
