/* SPDX-License-Identifier: ISC */
#include "message/message_internal.h"

#include <glib.h>
#include <string.h>

static bool is_boundary(const struct notice_reader *reader, const char *text)
{
    return reader->length == strlen(text) && memcmp(reader->line, text, strlen(text)) == 0;
}

static void decode_line(struct notice_reader *reader)
{
    guchar bytes[NOTICE_LINE_MAX];
    if (reader->length > NOTICE_LINE_MAX) {
        reader->step = STEP_OTHER;
        return;
    }
    size_t size = g_base64_decode_step(reader->line, reader->length, bytes, &reader->state, &reader->save);
    reader->attachment(reader->context, bytes, size);
}

static void end_line(struct notice_reader *reader)
{
    bool boundary = is_boundary(reader, "--" NOTICE_BOUNDARY);
    switch (reader->step) {
    case STEP_BEFORE:
    case STEP_TEXT:
        if (boundary)
            reader->step++;
        break;
    case STEP_HEADER:
        if (reader->length == 0)
            reader->step = STEP_DATA;
        break;
    case STEP_DATA:
        if (is_boundary(reader, "--" NOTICE_BOUNDARY "--"))
            reader->step = STEP_AFTER;
        else
            decode_line(reader);
        break;
    case STEP_AFTER:
        if (reader->length > 0)
            reader->step = STEP_OTHER;
        break;
    case STEP_OTHER:
        break;
    }
    reader->length = 0;
}

void notice_reader_feed(struct notice_reader *reader, const void *bytes, size_t size)
{
    const char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        if (at[i] == '\n')
            end_line(reader);
        else if (at[i] != '\r' && reader->length < NOTICE_LINE_MAX)
            reader->line[reader->length++] = at[i];
        else if (at[i] != '\r')
            reader->length = NOTICE_LINE_MAX + 1;
    }
}

bool notice_reader_end(struct notice_reader *reader)
{
    if (reader->length > 0)
        end_line(reader);
    bool complete = reader->step == STEP_AFTER;
    reader->step = STEP_BEFORE;
    reader->state = 0;
    reader->save = 0;
    return complete;
}
