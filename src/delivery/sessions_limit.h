/* SPDX-License-Identifier: ISC
 *
 * How many IMAP sessions a process may have. */
#ifndef ONCEDROP_SESSIONS_LIMIT_H
#define ONCEDROP_SESSIONS_LIMIT_H

#include "base/config.h"

/* Returns this process's share of imap.sessions, as one of `processes`, but no more than it can have descriptors for. Each session
 * counts like those with the server whose sessions have most descriptors (mailbox_descriptors). If necessary and allowed, raises
 * the process's limit (RLIMIT_NOFILE, getrlimit(2)). At least 1. */
size_t sessions_limit(const struct config *config, size_t processes) OD_MUST;

/* Whether one process can have imap.sessions. Raises the limit as sessions_limit does. If it returns false, *ret_limit is what
 * sessions_limit returns for one process, and the fault says why it is no more. */
bool sessions_suffice(const struct config *config, size_t *ret_limit, struct fault *fault) OD_MUST;

#endif
