/* SPDX-License-Identifier: ISC
 *
 * Times as people read and write them. */
#ifndef ONCEDROP_TIMES_H
#define ONCEDROP_TIMES_H

#include "base/base.h"

#define TIMES_SIZE 32

/* What something took: "5 ms", "2.5 s", "12 min", "2 h 5 min", "11 d 3 h"; returns text. */
const char *times_duration(double ms, char text[TIMES_SIZE]);

#define TIMES_SINCE_ALLOWED \
    "an age (30m, 2h, 7d), today, yesterday, or a date (2025-08-01, 2025-08-01T10:00, 2025-08-01T10:00Z)"

/* Parses "2h" (that long ago), "today" or "yesterday" (their midnight), or a date, optionally with time and zone. What has
 * no zone is local. *ret is in the form of struct ledger_filter: milliseconds before now, or @ and
 * seconds since 1970. False if it is none of these; *ret is then untouched. */
bool times_parse_since(const char *text, char ret[TIMES_SIZE]) OD_MUST;

/* A new string, with local time in place of each time that the ledger wrote: "2026-11-26T13:03:07Z" is
 * "2026-11-26 14:03:07+01:00". For people; programs are given UTC. */
char *times_local(const char *text) OD_MUST;

/* From now on the local time of this process is UTC, as with TZ=UTC (--utc). */
void times_use_utc(void);

#endif
