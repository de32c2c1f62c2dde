/* SPDX-License-Identifier: ISC */
#include <glib.h>
#include <string.h>

#include "decode/notice.h"
#include "message/message_comparison.h"

#define LINE_SIZE_MAX 256 /* longer lines are not the attachment's */

enum step { STEP_BEFORE, STEP_TEXT, STEP_HEADER, STEP_DATA, STEP_AFTER, STEP_OTHER };

struct notice_comparison {
    struct message_comparison *content;
    enum step step;
    gint state; /* of g_base64_decode_step */
    guint save;
    size_t length; /* of the current line */
    char line[LINE_SIZE_MAX];
};

struct notice_comparison *notice_comparison_new(const struct message *message, const char *const *ignore)
{
    struct notice_comparison *comparison = base_alloc(sizeof(*comparison));
    comparison->content = message_comparison_new(message, ignore);
    return comparison;
}

static bool is_boundary(const struct notice_comparison *comparison, const char *text)
{
    return comparison->length == strlen(text) && memcmp(comparison->line, text, strlen(text)) == 0;
}

static void decode_line(struct notice_comparison *comparison)
{
    guchar bytes[LINE_SIZE_MAX];
    if (comparison->length > LINE_SIZE_MAX) {
        comparison->step = STEP_OTHER;
        return;
    }
    size_t size =
        g_base64_decode_step(comparison->line, comparison->length, bytes, &comparison->state, &comparison->save);
    message_comparison_feed(comparison->content, bytes, size);
}

static void end_line(struct notice_comparison *comparison)
{
    bool boundary = is_boundary(comparison, "--" NOTICE_BOUNDARY);
    switch (comparison->step) {
    case STEP_BEFORE:
    case STEP_TEXT:
        if (boundary)
            comparison->step++;
        break;
    case STEP_HEADER:
        if (comparison->length == 0)
            comparison->step = STEP_DATA;
        break;
    case STEP_DATA:
        if (is_boundary(comparison, "--" NOTICE_BOUNDARY "--"))
            comparison->step = STEP_AFTER;
        else
            decode_line(comparison);
        break;
    case STEP_AFTER:
        if (comparison->length > 0)
            comparison->step = STEP_OTHER;
        break;
    case STEP_OTHER:
        break;
    }
    comparison->length = 0;
}

void notice_comparison_feed(struct notice_comparison *comparison, const void *bytes, size_t size)
{
    const char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        if (at[i] == '\n')
            end_line(comparison);
        else if (at[i] != '\r' && comparison->length < LINE_SIZE_MAX)
            comparison->line[comparison->length++] = at[i];
        else if (at[i] != '\r')
            comparison->length = LINE_SIZE_MAX + 1;
    }
}

bool notice_comparison_end(struct notice_comparison *comparison)
{
    if (comparison->length > 0)
        end_line(comparison);
    bool complete = comparison->step == STEP_AFTER;
    comparison->step = STEP_BEFORE;
    comparison->state = 0;
    comparison->save = 0;
    return message_comparison_end(comparison->content) == MESSAGE_SAME && complete;
}

void notice_comparison_free(struct notice_comparison **comparison)
{
    if (*comparison != NULL)
        message_comparison_free(&(*comparison)->content);
    base_free(comparison);
}
