/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *format_duration(double ms, char text[FORMAT_TIME_SIZE])
{
    int64_t minutes = (int64_t)(ms / 60000);
    if (ms < 999.5)
        snprintf(text, FORMAT_TIME_SIZE, "%.0f ms", ms);
    else if (ms < 59950)
        snprintf(text, FORMAT_TIME_SIZE, "%.1f s", ms / 1000);
    else if (minutes < 60)
        snprintf(text, FORMAT_TIME_SIZE, "%d min", minutes > 0 ? (int)minutes : 1);
    else if (minutes < 24 * 60)
        snprintf(text, FORMAT_TIME_SIZE, "%d h %d min", (int)(minutes / 60), (int)(minutes % 60));
    else
        snprintf(text, FORMAT_TIME_SIZE, "%" PRId64 " d %d h", minutes / 1440, (int)(minutes / 60 % 24));
    return text;
}

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

/* Returns true for a time as the ledger writes it. */
static bool starts_with_time(const char *text, struct tm *ret)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    for (size_t i = 0; form[i] != '\0'; i++)
        if (form[i] == '0' ? !g_ascii_isdigit(text[i]) : text[i] != form[i])
            return false;
    *ret = (struct tm){0};
    return strptime(text, "%Y-%m-%dT%H:%M:%SZ", ret) != NULL;
}

static void append_local(GString *text, struct tm *utc)
{
    time_t seconds = timegm(utc);
    struct tm local;
    char moment[FORMAT_TIME_SIZE], offset[8];
    (void)localtime_r(&seconds, &local);
    strftime(moment, sizeof(moment), "%F %T", &local);
    strftime(offset, sizeof(offset), "%z", &local);
    g_string_append_printf(text, "%s%.3s:%s", moment, offset, offset + 3);
}

char *format_time_local(const char *text)
{
    GString *changed = g_string_new(NULL);
    struct tm utc;
    while (*text != '\0') {
        if (starts_with_time(text, &utc)) {
            append_local(changed, &utc);
            text += strlen("0000-00-00T00:00:00Z");
        } else {
            g_string_append_c(changed, *text++);
        }
    }
    return g_string_free(changed, FALSE);
}

void format_time_use_utc(void)
{
    setenv("TZ", "UTC0", 1);
    tzset();
}
