/* SPDX-License-Identifier: ISC
 *
 * At most two units, and no more digits than people read; an age, a day, a date. */
#include "cmd/times.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/config.h"

const char *times_duration(double ms, char text[TIMES_SIZE])
{
    int64_t minutes = (int64_t)(ms / 60000);
    if (ms < 999.5)
        snprintf(text, TIMES_SIZE, "%.0f ms", ms);
    else if (ms < 59950)
        snprintf(text, TIMES_SIZE, "%.1f s", ms / 1000);
    else if (minutes < 60)
        snprintf(text, TIMES_SIZE, "%d min", minutes > 0 ? (int)minutes : 1);
    else if (minutes < 24 * 60)
        snprintf(text, TIMES_SIZE, "%d h %d min", (int)(minutes / 60), (int)(minutes % 60));
    else
        snprintf(text, TIMES_SIZE, "%" PRId64 " d %d h", minutes / 1440, (int)(minutes / 60 % 24));
    return text;
}

static bool take_age(const char *text, char ret[TIMES_SIZE])
{
    int64_t ms;
    if (strspn(text, "0123456789") == strlen(text) || !config_parse_duration(text, &ms))
        return false; /* a number alone may be a year */
    snprintf(ret, TIMES_SIZE, "%" PRId64, ms);
    return true;
}

/* Midnight, in UTC. */
static bool take_day(const char *text, char ret[TIMES_SIZE])
{
    bool yesterday = g_ascii_strcasecmp(text, "yesterday") == 0;
    if (!yesterday && g_ascii_strcasecmp(text, "today") != 0)
        return false;
    int64_t day = time(NULL) / 86400 - yesterday;
    snprintf(ret, TIMES_SIZE, "@%" PRId64, day * 86400);
    return true;
}

static bool take_date(const char *text, char ret[TIMES_SIZE])
{
    int year, month, day, hour = 0, minute = 0, second = 0, end = 0;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3)
        return false;
    text += end;
    if (*text == 'T' || *text == ' ') {
        if (sscanf(++text, "%2d:%2d%n", &hour, &minute, &end) != 2)
            return false;
        text += end;
        text += sscanf(text, ":%2d%n", &second, &end) == 1 ? end : 0;
    }
    g_autoptr(GTimeZone) zone = g_time_zone_new_identifier(*text != '\0' ? text : "Z");
    if (zone == NULL)
        return false;
    g_autoptr(GDateTime) time = g_date_time_new(zone, year, month, day, hour, minute, second);
    if (time != NULL)
        snprintf(ret, TIMES_SIZE, "@%" PRId64, g_date_time_to_unix(time));
    return time != NULL;
}

bool times_parse_since(const char *text, char ret[TIMES_SIZE])
{
    return take_age(text, ret) || take_day(text, ret) || take_date(text, ret);
}
