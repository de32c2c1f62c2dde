/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool take_age(const char *text, char ret[FORMAT_TIME_SIZE])
{
    int64_t ms;
    if (strspn(text, "0123456789") == strlen(text) || !config_parse_duration(text, &ms))
        return false; /* a number alone may be a year */
    snprintf(ret, FORMAT_TIME_SIZE, "%" PRId64, ms);
    return true;
}

/* Returns seconds since 1970. When clocks change, a repeated time is the first, a skipped one the same time after the
 * change. */
static int64_t seconds_of(const struct tm *local)
{
    bool found = false;
    time_t ret = 0;
    for (int summer = 1; summer >= 0; summer--) {
        struct tm tm = *local;
        tm.tm_isdst = summer;
        time_t seconds = mktime(&tm);
        bool shown = tm.tm_isdst == summer && tm.tm_hour == local->tm_hour && tm.tm_min == local->tm_min;
        if (!found || (shown && seconds < ret))
            ret = seconds;
        found = found || shown;
    }
    return ret;
}

/* Sets midnight, or the day's first time. */
static bool take_day(const char *text, char ret[FORMAT_TIME_SIZE])
{
    bool yesterday = g_ascii_strcasecmp(text, "yesterday") == 0;
    if (!yesterday && g_ascii_strcasecmp(text, "today") != 0)
        return false;
    time_t now = time(NULL);
    struct tm day;
    (void)localtime_r(&now, &day);
    day.tm_mday -= yesterday;
    day.tm_hour = day.tm_min = day.tm_sec = 0;
    snprintf(ret, FORMAT_TIME_SIZE, "@%" PRId64, seconds_of(&day));
    return true;
}

static bool take_date(const char *text, char ret[FORMAT_TIME_SIZE])
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
    bool is_local = *text == '\0';
    g_autoptr(GTimeZone) zone = g_time_zone_new_identifier(is_local ? "Z" : text);
    g_autoptr(GDateTime) time = zone != NULL ? g_date_time_new(zone, year, month, day, hour, minute, second) : NULL;
    const struct tm local = {.tm_year = year - 1900,
                             .tm_mon = month - 1,
                             .tm_mday = day,
                             .tm_hour = hour,
                             .tm_min = minute,
                             .tm_sec = second};
    if (time != NULL)
        snprintf(ret, FORMAT_TIME_SIZE, "@%" PRId64, is_local ? seconds_of(&local) : g_date_time_to_unix(time));
    return time != NULL;
}

bool parse_since(const char *text, char ret[FORMAT_TIME_SIZE])
{
    return take_age(text, ret) || take_day(text, ret) || take_date(text, ret);
}

static gboolean append_local(const GMatchInfo *found, GString *text, gpointer unused)
{
    (void)unused;
    g_autofree char *utc = g_match_info_fetch(found, 0);
    g_autoptr(GDateTime) at = g_date_time_new_from_iso8601(utc, NULL);
    g_autoptr(GDateTime) local = at != NULL ? g_date_time_to_local(at) : NULL;
    g_autofree char *shown = local != NULL ? g_date_time_format(local, "%F %T%:z") : NULL;
    g_string_append(text, shown != NULL ? shown : utc);
    return FALSE;
}

char *format_time_local(const char *text)
{
    g_autoptr(GRegex) times = g_regex_new("\\d{4}(-\\d\\d){2}T\\d\\d(:\\d\\d){2}Z", G_REGEX_RAW, 0, NULL);
    return g_regex_replace_eval(times, text, -1, 0, 0, append_local, NULL, NULL);
}

void format_time_use_utc(void)
{
    setenv("TZ", "UTC0", 1);
    tzset();
}
