/* SPDX-License-Identifier: ISC
 *
 * Reads the attachment of a quarantine notice (decode/notice.h), in pieces from the server. */
#ifndef ONCEDROP_MESSAGE_NOTICE_H
#define ONCEDROP_MESSAGE_NOTICE_H

#include "base/base.h"

#define NOTICE_BOUNDARY "=_oncedrop_explanation" /* no line of text or base64 begins with "--" */
#define NOTICE_LINE_MAX 256                      /* longer lines are not the attachment's */

/* Initially zero, except for the first two members. */
struct notice_reader {
    void (*attachment)(void *context, const void *bytes, size_t size);
    void *context;
    enum notice_step { STEP_BEFORE, STEP_TEXT, STEP_HEADER, STEP_DATA, STEP_AFTER, STEP_OTHER } step;
    int state; /* of g_base64_decode_step */
    unsigned save;
    size_t length; /* of the current line */
    char line[NOTICE_LINE_MAX];
};

void notice_reader_feed(struct notice_reader *reader, const void *bytes, size_t size);

/* Returns true if a complete notice was read; another may follow. */
bool notice_reader_end(struct notice_reader *reader) OD_MUST;

#endif
