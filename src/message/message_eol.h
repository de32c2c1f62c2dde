/* SPDX-License-Identifier: ISC
 *
 * Received bytes to bytes as appended, in chunks cut anywhere: LF becomes CRLF, CRLF and a bare CR stay, NUL becomes
 * 0x80, and a first line that begins with "From " (or ">From ") goes: mbox's mark of a message's beginning. */
#ifndef ONCEDROP_MESSAGE_EOL_H
#define ONCEDROP_MESSAGE_EOL_H

#include "base/base.h"

struct message_eol {
    enum { MESSAGE_EOL_FIRST_LINE, MESSAGE_EOL_FROM_LINE, MESSAGE_EOL_REST } state;
    size_t start, matched; /* part of ">From " that the input has begun with and that is held back */
    bool after_cr;
};

/* Room that the output of `size` bytes may need. */
#define MESSAGE_EOL_ROOM(size) (2 * (size) + sizeof ">From ")

/* Writes to out[MESSAGE_EOL_ROOM(size)]; returns how much. The struct begins zeroed. */
size_t message_eol_feed(struct message_eol *eol, const unsigned char *in, size_t size, unsigned char *out) OD_MUST;

/* At the end: what is still held back, at most MESSAGE_EOL_ROOM(0) bytes. */
size_t message_eol_end(struct message_eol *eol, unsigned char *out) OD_MUST;

#endif
