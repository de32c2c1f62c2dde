/* SPDX-License-Identifier: ISC
 *
 * Points in time as people name them. */
#ifndef ONCEDROP_SINCE_H
#define ONCEDROP_SINCE_H

#include "base/base.h"

#define SINCE_SIZE 24
#define SINCE_ALLOWED "an age (30m, 2h, 7d), today, yesterday, or a date (2025-08-01, 2025-08-01T10:00Z), in UTC"

/* Takes "2h", so long ago; "today" and "yesterday", from midnight; or a date, perhaps with a time, perhaps with a zone.
 * Without a zone it is UTC, as everything is printed. *ret as struct ledger_filter has it: milliseconds before now, or @
 * and seconds since 1970. False when it is none of these; *ret is then untouched. */
bool since_parse(const char *text, char ret[SINCE_SIZE]) OD_MUST;

#endif
