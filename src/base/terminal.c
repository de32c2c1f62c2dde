/* SPDX-License-Identifier: ISC */
#include "base/terminal.h"

#include <glib.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NARROWEST 20 /* columns after the indent, at least */

int terminal_width(int fd)
{
    struct winsize size;
    if (!isatty(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool terminal_coloured(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    return isatty(fd) && (no_color == NULL || no_color[0] == '\0');
}

/* Returns the length of a character or colour sequence. */
static size_t char_length(const char *at)
{
    size_t colour = at[0] == '\033' ? strcspn(at, "m") : 0;
    return colour > 0 && at[colour] != '\0' ? colour + 1 : (size_t)g_utf8_skip[(unsigned char)*at];
}

static int char_width(const char *at)
{
    gunichar c = g_utf8_get_char(at);
    if (at[0] == '\033')
        return 0;
    return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

int terminal_columns(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text += char_length(text))
        columns += char_width(text);
    return columns;
}

size_t terminal_truncate(const char *text, int columns)
{
    const char *at = text;
    for (int used = 0; *at != '\0'; at += char_length(at)) {
        used += char_width(at);
        if (used > columns)
            break;
    }
    return (size_t)(at - text);
}

static bool is_wide_around(const char *text, size_t at)
{
    const char *before = g_utf8_find_prev_char(text, text + at);
    return char_width(text + at) == 2 || (before != NULL && char_width(before) == 2);
}

/* Returns the last blank in `fits` bytes, preferably outside [ ]; 0: none after the indent. */
static size_t last_blank(const char *text, size_t fits)
{
    size_t start = strspn(text, " "), any = 0, outside = 0;
    bool inside = false;
    for (size_t at = start; at <= fits; at++) {
        inside = text[at] == '[' || (inside && text[at] != ']');
        if (text[at] == ' ' && at > start) {
            any = at;
            outside = inside ? outside : at;
        }
    }
    return outside > 0 ? outside : any;
}

/* Returns the end of the word after these blanks. */
static size_t word_end(const char *text, size_t at)
{
    at += strspn(text + at, " ");
    while (text[at] != '\0' && text[at] != ' ' && char_width(text + at) != 2)
        at += char_length(text + at);
    return at;
}

/* Returns where to break a line: at a blank, or between wide characters. A word longer than next_room stays
 * complete: the terminal wraps it. */
static size_t break_at(const char *text, int room, int next_room)
{
    size_t fits = terminal_truncate(text, room), blank = last_blank(text, fits), end = word_end(text, blank);
    char *word OD_CLEANUP(base_free) = base_strndup(text + blank, end - blank);
    if (terminal_columns(word) - (int)strspn(word, " ") > next_room)
        return end;
    if (blank > 0)
        return blank;
    return fits > 0 && is_wide_around(text, fits) ? fits : MAX(end, char_length(text));
}

void terminal_print(FILE *out, int indent, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *complete = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const char *text = complete;
    int columns = terminal_width(fileno(out)), room = columns;
    int pad = columns >= indent + NARROWEST ? indent : 0;
    while (columns > 0 && terminal_columns(text) > room) {
        size_t length = break_at(text, room, columns - pad);
        fprintf(out, "%.*s\n", (int)length, text);
        text += length + strspn(text + length, " ");
        room = columns - pad;
        if (*text == '\0')
            return;
        fprintf(out, "%*s", pad, "");
    }
    fprintf(out, "%s\n", text);
}

/* Returns a table row's right column; 0: prose. */
static int right_column(const char *line)
{
    size_t at = strspn(line, " ");
    if (at == 0)
        return 0;
    const char *gap = strstr(line + at, "  ");
    return gap != NULL ? (int)(gap - line) + (int)strspn(gap, " ") : (int)at;
}

void terminal_print_prose(FILE *out, const char *text)
{
    int columns = terminal_width(fileno(out)), widest = 0;
    if (columns == 0) {
        fputs(text, out);
        return;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) line = g_string_new(NULL);
    for (char **at = lines; *at != NULL; at++)
        widest = MAX(widest, terminal_columns(*at));
    for (char **at = lines; *at != NULL && (at[0][0] != '\0' || at[1] != NULL); at++) {
        g_string_append_printf(line, "%s%s", line->len > 0 ? " " : "", *at);
        bool goes_on = widest > columns && at[0][0] != '\0' && at[0][0] != ' ' && at[1] != NULL && at[1][0] != '\0' &&
                       at[1][0] != ' ';
        if (goes_on)
            continue;
        terminal_print(out, right_column(line->str), "%s", line->str);
        g_string_truncate(line, 0);
    }
}
