/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_LOG_TIME_H
#define ONCEDROP_LOG_TIME_H

#include <time.h>

#define LOG_TIME_SIZE sizeof("2026-11-26T08:15:30.123Z")

/* Writes the moment (1970 to 9999) in UTC by ISO 8601. Async-signal-safe, unlike gmtime_r(3). */
void log_time(const struct timespec *moment, char out[LOG_TIME_SIZE]);

#endif
