/* SPDX-License-Identifier: ISC */

#include <glib.h>
#include <string.h>

#include "ledger/ledger_internal.h"

/* Appends a literal character: in brackets only ^ and the backslash are special. */
static void add_character(GString *pattern, gunichar c)
{
    gunichar cases[] = {c, g_unichar_tolower(c), g_unichar_toupper(c)};
    bool has_case = cases[1] != cases[2];
    if (!has_case && (c >= 0x80 || strchr("\\^.*+?(){}|$[", (int)c) == NULL)) {
        g_string_append_unichar(pattern, c);
    } else if (!has_case) {
        g_string_append_printf(pattern, c == '^' ? "\\%c" : c == '\\' ? "[\\%c]" : "[%c]", (int)c);
    } else {
        char *set OD_CLEANUP(base_free) = g_ucs4_to_utf8(cases, G_N_ELEMENTS(cases), NULL, NULL, NULL);
        g_string_append_printf(pattern, "[%s]", set);
    }
}

/* Returns a regular expression for the text in any case, alike in all engines: SQLite knows only ASCII's cases,
 * PostgreSQL those of a locale. A new string; NULL for NULL. */
static char *part_pattern(const char *text)
{
    if (text == NULL)
        return NULL;
    GString *pattern = g_string_new(NULL);
    for (; *text != '\0'; text = g_utf8_find_next_char(text, NULL))
        add_character(pattern, g_utf8_get_char(text));
    return g_string_free(pattern, FALSE);
}

static bool is_moment(const char *time)
{
    return time != NULL && time[0] == '@';
}

struct sql_rows *ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct error *error)
{
    bool unfinished = filter->state != NULL && strcmp(filter->state, "unfinished") == 0;
    char *subject OD_CLEANUP(base_free) = part_pattern(filter->subject);
    char *message_id OD_CLEANUP(base_free) = part_pattern(filter->message_id);
    return ledger_query(ledger,
                        SQL_STEP(list, .state = SQL_TEXT(unfinished ? NULL : filter->state),
                                 .unfinished = unfinished ? SQL_BOOL(true) : SQL_NULL,
                                 .since_ms = SQL_TEXT(is_moment(filter->since) ? NULL : filter->since),
                                 .since = SQL_TEXT(is_moment(filter->since) ? filter->since : NULL),
                                 .until_ms = SQL_TEXT(is_moment(filter->until) ? NULL : filter->until),
                                 .until = SQL_TEXT(is_moment(filter->until) ? filter->until : NULL),
                                 .mailbox = SQL_TEXT(filter->mailbox), .subject = SQL_TEXT(subject),
                                 .message_id = SQL_TEXT(message_id), .recipient = SQL_TEXT(filter->recipient),
                                 .sender = SQL_TEXT(filter->sender), .queue_id = SQL_TEXT(filter->queue_id),
                                 .delay_ms = SQL_TEXT(filter->delay), .limit = SQL_NUMBER(filter->limit)),
                        error);
}

struct sql_rows *ledger_totals(struct ledger *ledger, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(totals), error);
}

struct sql_rows *ledger_hours(struct ledger *ledger, int64_t hours, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(hours, .hours = SQL_NUMBER(hours)), error);
}
