/* SPDX-License-Identifier: ISC
 *
 * Dates in IMAP's format, always in UTC and independent of the locale. */
#include "mailbox/mailbox_session.h"

#include <stdio.h>
#include <time.h>

void mailbox_date(int64_t seconds, bool with_time, char ret[MAILBOX_DATE_SIZE])
{
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    static const int64_t last = 253402300799; /* the end of the year 9999 */
    time_t time = (time_t)(seconds < 0 ? 0 : seconds > last ? last : seconds);
    struct tm tm;
    gmtime_r(&time, &tm);
    int length = snprintf(ret, MAILBOX_DATE_SIZE, "%02d-%s-%04d", tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900);
    if (with_time)
        snprintf(ret + length, MAILBOX_DATE_SIZE - (size_t)length, " %02d:%02d:%02d +0000", tm.tm_hour, tm.tm_min,
                 tm.tm_sec);
}
