/* SPDX-License-Identifier: ISC
 *
 * Points in time as people write them. */
#ifndef ONCEDROP_SINCE_H
#define ONCEDROP_SINCE_H

#include "base/base.h"

#define SINCE_SIZE 24
#define SINCE_ALLOWED "an age (30m, 2h, 7d), today, yesterday, or a date (2025-08-01, 2025-08-01T10:00Z; UTC)"

/* Parses "2h" (that long ago), "today" or "yesterday" (their midnight), or a date, optionally with time and zone. The
 * default zone is UTC, as in all output. *ret is in the form of struct ledger_filter: milliseconds before now, or @ and
 * seconds since 1970. False if it is none of these; *ret is then untouched. */
bool since_parse(const char *text, char ret[SINCE_SIZE]) OD_MUST;

#endif
