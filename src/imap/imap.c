/* SPDX-License-Identifier: ISC */
#include "imap/imap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUDGET ((size_t)16 * 1024 * 1024)

/* Sets the command's name, such as "UID FETCH", for errors. Arguments may be a password. */
static void name_step(struct imap *imap, const char *command)
{
    size_t skip = strncmp(command, "UID ", 4) == 0 ? 4 : 0;
    snprintf(imap->command, sizeof(imap->command), "%.*s", (int)(skip + strcspn(command + skip, " ")), command);
    imap->step = imap->command;
}

OD_PRINTF(2, 0)
static char *begin_command(struct imap *imap, const char *format, va_list arguments)
{
    char *command OD_CLEANUP(base_free_secret) = NULL;
    imap->reply = imap_reply_none();
    imap->responses = 0;
    imap->budget = BUDGET;
    imap->body_budget = UINT32_MAX; /* RFC 3501, 9 */
    if (vasprintf(&command, format, arguments) < 0)
        abort();
    name_step(imap, command);
    snprintf(imap->tag, sizeof(imap->tag), "A%u", ++imap->tag_number);
    return base_printf("%s %s", imap->tag, command);
}

OD_PRINTF(3, 0)
static bool send_command(struct imap *imap, struct error *error, const char *format, va_list arguments)
{
    char *line OD_CLEANUP(base_free_secret) = begin_command(imap, format, arguments);
    return imap_stream_line(imap, line, error);
}

char *imap_begin(struct imap *imap, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *line = begin_command(imap, format, arguments);
    va_end(arguments);
    return line;
}

bool imap_send(struct imap *imap, struct error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool sent = send_command(imap, error, format, arguments);
    va_end(arguments);
    return sent;
}

bool imap_finish(struct imap *imap, imap_untagged *untagged, void *context, struct error *error)
{
    do {
        if (!imap_response_read(imap, error))
            return false;
        imap->responses++;
        if (imap->reply.kind == REPLY_UNTAGGED && untagged != NULL)
            untagged(context, &imap->reply);
    } while (imap->reply.kind != REPLY_TAGGED);
    return true;
}

bool imap_command(struct imap *imap, imap_untagged *untagged, void *context, struct error *error, const char *format,
                  ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool sent = send_command(imap, error, format, arguments);
    va_end(arguments);
    if (!sent || !imap_finish(imap, untagged, context, error))
        return false;
    return imap->reply.status == STATUS_OK ||
           error_set(error, "%s: %s refused: %s", imap->peer_name, imap->step, imap->reply.data);
}

bool imap_capabilities(struct imap *imap, struct error *error)
{
    if (imap->capabilities == NULL && !imap_command(imap, NULL, NULL, error, "CAPABILITY"))
        return false;
    return imap->capabilities != NULL ||
           error_set(error, "%s: CAPABILITY was answered without a capability", imap->peer_name);
}

bool imap_can(const struct imap *imap, const char *capability)
{
    return imap->capabilities != NULL && imap_reply_has_word(imap->capabilities, capability);
}

bool imap_has_control(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

char *imap_quote(const char *text)
{
    if (imap_has_control(text))
        return NULL;
    char *quoted = base_alloc(2 * strlen(text) + 3);
    char *out = quoted;
    *out++ = '"';
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            *out++ = '\\';
        *out++ = *p;
    }
    *out = '"';
    return quoted;
}

void imap_date(int64_t seconds, bool with_time, char ret[IMAP_DATE_SIZE])
{
    static const int64_t last = 253402300799; /* end of the year 9999 */
    time_t time = (time_t)(seconds < 0 ? 0 : seconds > last ? last : seconds);
    struct tm tm;
    gmtime_r(&time, &tm);
    /* in English: main() sets no LC_TIME */
    (void)!strftime(ret, IMAP_DATE_SIZE, with_time ? "%d-%b-%Y %H:%M:%S +0000" : "%d-%b-%Y", &tm);
}
