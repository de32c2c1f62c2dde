/* SPDX-License-Identifier: ISC
 *
 * How many IMAP sessions a process may have. */
#ifndef ONCEDROP_SESSIONS_LIMIT_H
#define ONCEDROP_SESSIONS_LIMIT_H

#include "base/config.h"

/* Its share of imap.sessions, as one of so many processes, but no more than it can have descriptors for: each session is counted
 * as if it were with the server whose sessions have most of them (mailbox_descriptors). Raises the limit of this process
 * (RLIMIT_NOFILE, getrlimit(2)) if it must and may. At least 1. */
size_t sessions_limit(const struct config *config, size_t processes) OD_MUST;

#endif
