/* SPDX-License-Identifier: ISC
 *
 * 80 columns, nothing truncated. */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/terminal.h"
#include "cmd/cmd.h"
#include "cmd/table.h"

#define SHARE_BAR 40
#define HOUR_BAR 8
#define HOURS_MAX 48 /* lines */

#define INDENT 14 /* of continuation lines */
#define TEXT 64

/* "374 bytes", "45.6 GiB". */
static const char *size_text(double bytes, char text[TEXT])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < G_N_ELEMENTS(units); unit++)
        bytes /= 1024;
    g_snprintf(text, TEXT, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

static void print_bar(double part, double complete, int width)
{
    int filled = part > 0 ? MAX((int)(part / complete * width + 0.5), 1) : 0;
    printf("%s%.*s\n", filled > 0 ? "  " : "", filled, "########################################");
}

static void print_record(const struct sql_rows *totals)
{
    static const char *const states[] = {"stored", "pending", "appending", "failed", "expired"};
    char text[TEXT];
    g_autoptr(GString) copies = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(states); i++)
        g_string_append_printf(copies, "%s%.0f %s", i > 0 ? ", " : "", stats_number(totals, 0, states[i]), states[i]);
    terminal_print(stdout, INDENT, "messages      %.0f, %s", stats_number(totals, 0, "messages"),
                   size_text(stats_number(totals, 0, "bytes"), text));
    terminal_print(stdout, INDENT, "copies        %s", copies->str);
    double unfinished = stats_number(totals, 0, "unfinished");
    if (unfinished > 0)
        terminal_print(stdout, INDENT, "unfinished    %.0f, the oldest for %s", unfinished,
                       format_duration(stats_number(totals, 0, "oldest_unfinished") * 1000, text));
    else
        terminal_print(stdout, INDENT, "unfinished    none");
}

static void print_outcomes(const struct stats *stats)
{
    static const char *const outcomes[] = {"stored", "quarantined", "duplicate", "deferred", "bounced", "died"};
    double all = stats_count(stats, "deliveries", NULL);
    g_autoptr(GString) reasons = g_string_new(NULL);
    if (all > 0)
        table_heading("Tries since the record began, one for each recipient");
    for (size_t i = 0; all > 0 && i < G_N_ELEMENTS(outcomes); i++) {
        double count = stats_count(stats, "deliveries", outcomes[i]);
        printf("%-13s %12.0f  %5.1f %%", outcomes[i], count, 100 * count / all);
        print_bar(count, all, SHARE_BAR);
    }
    for (size_t row = 0; stats_next(stats, "deferrals", NULL, &row); row++)
        if (strcmp(stats_cell(stats, row, COUNTERS_VALUE), "0") != 0)
            g_string_append_printf(reasons, "%s%s %s", reasons->len > 0 ? ", " : "",
                                   stats_cell(stats, row, COUNTERS_LABEL), stats_cell(stats, row, COUNTERS_VALUE));
    if (reasons->len > 0)
        terminal_print(stdout, INDENT, "deferred for  %s", reasons->str);
    double searches = stats_count(stats, "searches", NULL);
    if (searches > 0)
        terminal_print(stdout, INDENT, "in doubt      %.0f search%s of a mailbox", searches, searches == 1 ? "" : "es");
}

/* Returns the bound of this share of the attempts, at least least_ms. */
static const char *quantile(const struct stats *stats, const char *name, const char *label, double share,
                            double least_ms, char text[TEXT])
{
    double all = stats_count(stats, name, label), below = 0, longest = 0;
    for (size_t row = 0; stats_next(stats, name, label, &row); row++) {
        double ms = g_ascii_strtod(stats_cell(stats, row, COUNTERS_LE), NULL);
        below += g_ascii_strtod(stats_cell(stats, row, COUNTERS_VALUE), NULL);
        longest = MAX(longest, ms);
        if (below >= share * all && ms > 0 && ms >= least_ms)
            return format_duration(ms, text);
    }
    char bound[TEXT];
    g_snprintf(text, TEXT, "over %s", format_duration(longest, bound));
    return text;
}

static void print_phases(const struct stats *stats)
{
    static const struct {
        const char *name, *label, *text;
        double least_ms;
    } phases[] = {
        {"phase", "read", "reading", 0},
        {"phase", "lock", "lock", 0},
        {"phase", "database", "database", 0},
        {"phase", "imap", "IMAP", 0},
        {"delay", "", "in all", STATS_DELAY_LEAST_MS},
    };
    static const double shares[] = {0.5, 0.95, 0.99};
    char text[TEXT];
    if (stats_count(stats, "phase", NULL) == 0)
        return;
    table_heading("Time spent on each phase, and since Postfix received the message");
    printf("%-13s %14s %14s %14s\n", "", "50 % within", "95 % within", "99 % within");
    for (size_t i = 0; i < G_N_ELEMENTS(phases); i++) {
        if (stats_count(stats, phases[i].name, phases[i].label) == 0)
            continue;
        printf("%-13s", phases[i].text);
        for (size_t j = 0; j < G_N_ELEMENTS(shares); j++)
            printf(" %14s", quantile(stats, phases[i].name, phases[i].label, shares[j], phases[i].least_ms, text));
        putchar('\n');
    }
}

static void print_hour(const struct sql_rows *hours, size_t row, double max)
{
    static const char *const shares[] = {"p50", "p95", "p99"};
    char text[FORMAT_TIME_SIZE];
    double stored = stats_number(hours, row, "stored");
    printf(" %8.0f %7.0f", stored, stats_number(hours, row, "retried"));
    for (size_t i = 0; i < G_N_ELEMENTS(shares); i++)
        printf(" %11s", format_duration(1000 * stats_number(hours, row, shares[i]), text));
    print_bar(stored, max, HOUR_BAR);
}

/* From the first hour with mail until now. */
static void print_hours(const struct sql_rows *hours)
{
    double max = 1;
    for (size_t row = 0; row < hours->count; row++)
        max = MAX(max, stats_number(hours, row, "stored"));
    table_heading("Stored for recipients by hour, and the time since the first attempt");
    printf("%-17s %8s %7s %11s %11s %11s\n", "", "stored", "retried", "50 % within", "95 % within", "99 % within");
    GDateTime *now = g_date_time_new_now_utc(), *at = g_date_time_new_from_iso8601(sql_text(hours, 0, 0), NULL);
    size_t row = 0;
    for (int i = 0; i < HOURS_MAX && at != NULL && (row < hours->count || g_date_time_compare(at, now) < 0); i++) {
        GDateTime *next = g_date_time_add_hours(at, 1);
        char *hour = g_date_time_format(at, "%Y-%m-%dT%H:%M:%SZ"), *local = format_time_local(hour);
        printf("%.11s%s", local + strlen("2025-"), local + strlen("2025-08-01 12:00:00"));
        if (row < hours->count && strcmp(sql_text(hours, row, 0), hour) == 0)
            print_hour(hours, row++, max);
        else
            printf(" %8d\n", 0);
        g_free(hour);
        g_free(local);
        g_date_time_unref(at);
        at = next;
    }
    g_clear_pointer(&at, g_date_time_unref);
    g_date_time_unref(now);
}

void stats_page(const struct stats *stats)
{
    if (stats->up)
        print_record(stats->totals);
    if (stats->unrecorded > 0)
        terminal_print(stdout, INDENT, "not recorded  %" PRId64 " deferral%s of this host, for lack of a ledger",
                       stats->unrecorded, stats->unrecorded == 1 ? "" : "s");
    if (!stats->up)
        return;
    print_outcomes(stats);
    print_phases(stats);
    if (stats->hours->count > 0)
        print_hours(stats->hours);
}
