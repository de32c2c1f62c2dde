/* SPDX-License-Identifier: ISC
 *
 * Times for people. */
#ifndef ONCEDROP_FORMAT_TIME_H
#define ONCEDROP_FORMAT_TIME_H

#include "base/base.h"

#define FORMAT_TIME_SIZE 32

/* Writes a duration: "5 ms", "2.5 s", "12 min", "2 h 5 min", "11 d 3 h". */
const char *format_duration(double ms, char text[FORMAT_TIME_SIZE]);

#define PARSE_SINCE_ALLOWED \
    "an age (30m, 2h, 7d), today, yesterday, or a date (2025-08-01, 2025-08-01T10:00, 2025-08-01T10:00Z)"

/* Parses an age ("2h"), today, yesterday, or a date with optional time and zone (default: local). Sets *ret as in
 * struct ledger_filter: milliseconds before now, or @ and seconds since 1970. Returns false, *ret unchanged, for other
 * text. */
bool parse_since(const char *text, char ret[FORMAT_TIME_SIZE]) OD_MUST;

/* Returns a new string, with local times for the ledger's: "2026-11-26 14:03:07+01:00". Programs get UTC. */
char *format_time_local(const char *text) OD_MUST;

/* Makes UTC the local time. */
void format_time_use_utc(void);

#endif
