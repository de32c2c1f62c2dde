/* SPDX-License-Identifier: ISC */
#include "imap/imap_internal.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"

#define SHOWN_MAX 2048 /* bytes of a line, escaped */
#define MASK "****"

static bool is_logged(const struct imap_debug *debug)
{
    return debug_imap && debug_account(debug->account);
}

/* who: "C", "S" or "". */
static void log_words(const struct imap_debug *debug, const char *who, const char *text)
{
    char account[256], shown[SHOWN_MAX];
    debug_line("imap %s%s%s: %s",
               log_escape_text(debug->account != NULL ? debug->account : "-", account, sizeof(account)),
               *who != '\0' ? " " : "", who, log_escape_text(text, shown, sizeof(shown)));
}

/* Returns whether a line may repeat credentials; only during the login. */
static bool may_be_secret(const struct imap_debug *debug, const char *line)
{
    return debug->password != NULL && (strncmp(line, "+ ", 2) == 0 || strstr(line, debug->password) != NULL ||
                                       strstr(line, debug->secret) != NULL);
}

void imap_debug_fact(const struct imap_debug *debug, const char *format, ...)
{
    char text[SHOWN_MAX];
    va_list arguments;
    if (!is_logged(debug))
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    log_words(debug, "", may_be_secret(debug, text) ? MASK : text);
}

/* Returns a command's length before its credentials; SIZE_MAX: none. A line without the tag follows "+": all
 * credentials. */
static size_t length_before_secret(const char *tag, const char *line)
{
    size_t skip = strlen(tag);
    if (skip == 0 || strncmp(line, tag, skip) != 0 || line[skip] != ' ')
        return 0;
    const char *command = line + skip + 1;
    if (strncasecmp(command, "LOGIN ", strlen("LOGIN ")) == 0)
        return skip + 1 + strlen("LOGIN ");
    if (strncasecmp(command, "AUTHENTICATE ", strlen("AUTHENTICATE ")) != 0)
        return SIZE_MAX;
    const char *mechanism = command + strlen("AUTHENTICATE "), *end = strchr(mechanism, ' ');
    return end != NULL ? (size_t)(end + 1 - line) : SIZE_MAX;
}

void imap_debug_sent(const struct imap_debug *debug, const char *tag, const char *line)
{
    if (!is_logged(debug))
        return;
    size_t length = length_before_secret(tag, line);
    g_autofree char *masked = length != SIZE_MAX ? g_strdup_printf("%.*s" MASK, (int)length, line) : NULL;
    log_words(debug, "C", masked != NULL ? masked : line);
}

static void log_literal(const struct imap_debug *debug, const char *who, size_t size)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "(literal of %zu bytes)", size);
    log_words(debug, who, text);
}

void imap_debug_sent_literal(const struct imap_debug *debug, const struct iovec *pieces, size_t count)
{
    size_t size = 0;
    if (!is_logged(debug))
        return;
    for (size_t i = 0; i < count; i++)
        size += pieces[i].iov_len;
    log_literal(debug, "C", size);
}

/* "* n FETCH ...". */
static bool is_fetched(const char *response)
{
    static const char digits[] = "0123456789";
    size_t number = strncmp(response, "* ", 2) == 0 ? strspn(response + 2, digits) : 0;
    return number > 0 && strncasecmp(response + 2 + number, " FETCH", strlen(" FETCH")) == 0;
}

/* Replaces each quoted string by "...": it may be fetched text. */
static char *without_quoted(const char *line)
{
    GString *text = g_string_new(NULL);
    while (*line != '\0') {
        size_t plain = strcspn(line, "\"");
        g_string_append_len(text, line, (gssize)plain);
        line += plain;
        if (*line == '\0')
            break;
        g_string_append(text, "\"...\"");
        for (line++; *line != '\0' && *line != '"'; line++)
            line += *line == '\\' && line[1] != '\0';
        line += *line == '"';
    }
    return g_string_free(text, FALSE);
}

void imap_debug_received(const struct imap_debug *debug, const char *response, const char *line)
{
    if (!is_logged(debug))
        return;
    g_autofree char *shown = may_be_secret(debug, line) ? g_strdup(MASK)
                             : is_fetched(response)     ? without_quoted(line)
                                                        : NULL;
    log_words(debug, "S", shown != NULL ? shown : line);
}

void imap_debug_received_literal(const struct imap_debug *debug, size_t size)
{
    if (is_logged(debug))
        log_literal(debug, "S", size);
}
