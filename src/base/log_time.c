/* SPDX-License-Identifier: ISC
 *
 * Years begin in March: the leap day is last, earlier months have fixed lengths. */
#include "base/log_internal.h"

#include <stdint.h>

#define DAY 86400
#define FROM_YEAR_0 719468 /* from 0000-03-01 to 1970-01-01 */
#define ERA 146097         /* days of 400 years */

struct date {
    int64_t year, month, day;
};

static struct date date_of(int64_t days)
{
    int64_t era = (days + FROM_YEAR_0) / ERA, rest = (days + FROM_YEAR_0) % ERA;
    int64_t year = (rest - rest / 1460 + rest / 36524 - rest / (ERA - 1)) / 365; /* of the era; without leap days */
    int64_t day = rest - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day + 2) / 153; /* 0: March; five months have 153 days */
    return (struct date){
        .year = 400 * era + year + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = day - (153 * month + 2) / 5 + 1,
    };
}

static char *put_digits(char *at, int64_t value, int digits, char end)
{
    for (int i = digits - 1; i >= 0; i--, value /= 10)
        at[i] = (char)('0' + value % 10);
    at[digits] = end;
    return at + digits + 1;
}

void log_time(const struct timespec *moment, char out[LOG_TIME_SIZE])
{
    struct date date = date_of(moment->tv_sec / DAY);
    int64_t seconds = moment->tv_sec % DAY;
    out = put_digits(out, date.year, 4, '-');
    out = put_digits(out, date.month, 2, '-');
    out = put_digits(out, date.day, 2, 'T');
    out = put_digits(out, seconds / 3600, 2, ':');
    out = put_digits(out, seconds / 60 % 60, 2, ':');
    out = put_digits(out, seconds % 60, 2, '.');
    out = put_digits(out, moment->tv_nsec / 1000000, 3, 'Z');
    *out = '\0';
}
