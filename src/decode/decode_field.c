/* SPDX-License-Identifier: ISC
 *
 * Fields, dates and ids; without gmime, since replay parses dates in the delivering process. */
#include <string.h>

#include "decode/decode_internal.h"

char *decode_field(struct decode_span header, const char *name, size_t max)
{
    size_t size = MIN(decode_span_size(header), DECODE_HEADER_MAX);
    struct message_field field;

    if (!message_field_find(header.start, size, name, &field))
        return NULL;
    return g_strstrip(message_field_unfold(field.value, MIN(field.value_length, max), &size));
}

/* Dates: recognises tokens by form, not order: RFC 5322, ctime(3), RFC 850 and ISO 8601 all occur. */
struct date {
    int year, month, day, hour, minute, second;
    int zone; /* minutes east */
    bool has_year, has_time, bad;
};

static int read_number(const char **at, int *ret_digits)
{
    int number = 0;

    for (*ret_digits = 0; g_ascii_isdigit(**at); (*at)++, (*ret_digits)++)
        number = number < 100000 ? number * 10 + (**at - '0') : number;
    return number;
}

static void skip_nested(const char **at)
{
    int depth = 0;

    do {
        if (**at == '\\' && (*at)[1])
            (*at)++;
        else if (**at == '(')
            depth++;
        else if (**at == ')')
            depth--;
        (*at)++;
    } while (**at && depth > 0);
}

static void skip_blanks(const char **at)
{
    while (g_ascii_isspace(**at) || **at == '(') {
        if (**at == '(')
            skip_nested(at);
        else
            (*at)++;
    }
}

static bool skip_colon(const char **at)
{
    const char *colon = *at;

    skip_blanks(&colon);
    if (*colon != ':')
        return false;
    *at = colon + 1;
    skip_blanks(at);
    return true;
}

/* RFC 5322, 4.3; military zones are 0 */
static int named_zone(const char *word, size_t length)
{
    static const struct {
        const char *name;
        int hours;
    } zones[] = {{"EST", -5}, {"EDT", -4}, {"CST", -6}, {"CDT", -5},
                 {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7}};

    for (size_t i = 0; i < G_N_ELEMENTS(zones); i++)
        if (length == 3 && g_ascii_strncasecmp(word, zones[i].name, 3) == 0)
            return zones[i].hours * 60;
    return 0;
}

static void read_name(struct date *date, const char **at)
{
    static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    const char *word = *at;

    while (g_ascii_isalpha(**at))
        (*at)++;
    size_t length = (size_t)(*at - word);
    for (int i = 0; length >= 3 && i < 12; i++) {
        if (g_ascii_strncasecmp(word, months + i * 3, 3) == 0) {
            date->month = i + 1;
            return;
        }
    }
    if (date->has_time && date->zone == 0)
        date->zone = named_zone(word, length);
}

static void read_time(struct date *date, const char **at, int hour)
{
    int digits;

    date->hour = hour;
    date->minute = read_number(at, &digits);
    date->second = 0;
    if (skip_colon(at))
        date->second = read_number(at, &digits);
    if (**at == '.' || **at == ',') /* fraction of a second */
        for ((*at)++; g_ascii_isdigit(**at); (*at)++)
            ;
    date->second = date->second == 60 ? 59 : date->second;
    date->has_time = true;
}

/* RFC 5322, 4.3. */
static void set_year(struct date *date, int number, int digits)
{
    date->year = digits == 2 ? number + (number < 50 ? 2000 : 1900) : digits == 3 ? number + 1900 : number;
    date->has_year = true;
    date->bad = date->bad || digits > 4;
}

static void read_digits(struct date *date, const char **at)
{
    int digits, number = read_number(at, &digits);

    if (digits <= 2 && skip_colon(at)) {
        read_time(date, at, number);
    } else if (digits == 4 && **at == '-' && g_ascii_isdigit((*at)[1])) {
        set_year(date, number, digits);
        (*at)++;
        date->month = read_number(at, &digits);
        if (**at == '-') {
            (*at)++;
            date->day = read_number(at, &digits);
        }
    } else if (digits <= 2 && date->day == 0) {
        date->day = number;
    } else if (digits >= 2 && !date->has_year) {
        set_year(date, number, digits);
    }
}

/* "+0200", "-03:30"; only after the time, before which '-' separates day, month and year. */
static void read_sign(struct date *date, const char **at)
{
    int sign = *(*at)++ == '-' ? -1 : 1, digits, number;

    if (!date->has_time || !g_ascii_isdigit(**at))
        return;
    number = read_number(at, &digits);
    if (digits == 2 && **at == ':') {
        (*at)++;
        number = number * 100 + read_number(at, &digits);
        digits = 4;
    }
    if (digits == 4)
        date->zone = sign * (number / 100 * 60 + number % 100);
}

static bool to_seconds(const struct date *date, int64_t *ret)
{
    if (date->bad || !date->has_year || date->month == 0 || date->day == 0)
        return false;
    g_autoptr(GDateTime)
        utc = g_date_time_new_utc(date->year, date->month, date->day, date->hour, date->minute, date->second);
    if (utc == NULL)
        return false;
    int64_t seconds = g_date_time_to_unix(utc) - (int64_t)date->zone * 60;
    if (seconds < DECODE_DATE_MIN || seconds > DECODE_DATE_MAX)
        return false;
    *ret = seconds;
    return true;
}

bool decode_date(const char *text, int64_t *ret)
{
    struct date date = {0};

    while (*text) {
        if (*text == '(')
            skip_nested(&text);
        else if (g_ascii_isalpha(*text))
            read_name(&date, &text);
        else if (g_ascii_isdigit(*text))
            read_digits(&date, &text);
        else if (*text == '+' || *text == '-')
            read_sign(&date, &text);
        else
            text++;
    }
    return to_seconds(&date, ret);
}

static char *next_id(const char **at)
{
    const char *open = NULL;

    for (const char *c = *at; *c; c++) {
        if (*c == '<') {
            open = c + 1;
        } else if (*c == '>' && open != NULL && c > open) {
            *at = c + 1;
            return g_utf8_make_valid(open, c - open);
        } else if (*c == '>') {
            open = NULL;
        }
    }
    return NULL;
}

static void read_ids(struct decode_span header, const char *name, char **ids, size_t max)
{
    char *value OD_CLEANUP(base_free) = decode_field(header, name, DECODE_HEADER_MAX);
    const char *at = value;

    for (size_t n = 0; value != NULL && n < max && (ids[n] = next_id(&at)) != NULL; n++)
        ;
}

void decode_ids(struct decoded *decoded, struct decode_span header)
{
    char *date OD_CLEANUP(base_free) = decode_field(header, "Date", 256);

    decoded->has_date = date != NULL && decode_date(date, &decoded->date);
    read_ids(header, "In-Reply-To", &decoded->in_reply_to, 1);
    read_ids(header, "References", decoded->references, DECODE_REFERENCES_MAX);
}
