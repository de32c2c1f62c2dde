/* SPDX-License-Identifier: ISC
 *
 * The dialogue: commands and their answers. */
#include "imap/imap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUDGET ((size_t)16 * 1024 * 1024)

OD_PRINTF(4, 0)
static bool send_command(struct imap *imap, const char *step, struct fault *fault, const char *format,
                         va_list arguments)
{
    char *command OD_CLEANUP(base_free_secret) = NULL;
    imap->step = step;
    imap->responses = 0;
    imap->budget = BUDGET;
    imap->body_budget = UINT32_MAX; /* RFC 3501, 9: the size of a literal is a number */
    if (vasprintf(&command, format, arguments) < 0)
        abort();
    snprintf(imap->tag, sizeof(imap->tag), "A%u", ++imap->tag_number);
    char *line OD_CLEANUP(base_free_secret) = base_printf("%s %s", imap->tag, command);
    return imap_stream_line(imap, line, fault);
}

bool imap_send(struct imap *imap, const char *step, struct fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool sent = send_command(imap, step, fault, format, arguments);
    va_end(arguments);
    return sent;
}

bool imap_finish(struct imap *imap, imap_untagged *untagged, void *context, struct imap_reply *ret, struct fault *fault)
{
    do {
        if (!imap_response_read(imap, ret, fault))
            return false;
        imap->responses++;
        if (ret->kind == REPLY_UNTAGGED && untagged != NULL)
            untagged(context, ret);
    } while (ret->kind != REPLY_TAGGED);
    return true;
}

bool imap_ask(struct imap *imap, const char *step, imap_untagged *untagged, void *context, struct imap_reply *ret,
              struct fault *fault, const char *format, ...)
{
    va_list arguments;
    *ret = imap_reply_none();
    va_start(arguments, format);
    bool sent = send_command(imap, step, fault, format, arguments);
    va_end(arguments);
    if (!sent || !imap_finish(imap, untagged, context, ret, fault))
        return false;
    if (ret->status != STATUS_OK)
        fault_set(fault, "%s: %s refused: %s", imap->where, imap->step, ret->data);
    return ret->status == STATUS_OK;
}

bool imap_capabilities(struct imap *imap, struct fault *fault)
{
    struct imap_reply reply;
    if (imap->capabilities == NULL && !imap_ask(imap, "CAPABILITY", NULL, NULL, &reply, fault, "CAPABILITY"))
        return false;
    if (imap->capabilities == NULL)
        fault_set(fault, "%s: CAPABILITY was answered without a capability", imap->where);
    return imap->capabilities != NULL;
}

bool imap_can(const struct imap *imap, const char *capability)
{
    return imap->capabilities != NULL && imap_reply_has_word(imap->capabilities, capability);
}

char *imap_quote(const char *text)
{
    char *quoted = base_alloc(2 * strlen(text) + 3);
    char *out = quoted;
    *out++ = '"';
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            free(quoted);
            return NULL;
        }
        if (*p == '"' || *p == '\\')
            *out++ = '\\';
        *out++ = *p;
    }
    *out = '"';
    return quoted;
}

void imap_date(int64_t seconds, bool with_time, char ret[IMAP_DATE_SIZE])
{
    static const int64_t last = 253402300799; /* the end of the year 9999 */
    time_t time = (time_t)(seconds < 0 ? 0 : seconds > last ? last : seconds);
    struct tm tm;
    gmtime_r(&time, &tm);
    /* in English: main() sets no language (LC_TIME) */
    (void)!strftime(ret, IMAP_DATE_SIZE, with_time ? "%d-%b-%Y %H:%M:%S +0000" : "%d-%b-%Y", &tm);
}
