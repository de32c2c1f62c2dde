/* SPDX-License-Identifier: ISC
 *
 * Converts received bytes to bytes as appended, in pieces of any size: LF becomes CRLF, CRLF and a bare CR are kept,
 * NUL becomes 0x80, and a first line that begins with "From " (or ">From "), an mbox separator, is removed. */
#ifndef ONCEDROP_MESSAGE_EOL_H
#define ONCEDROP_MESSAGE_EOL_H

#include "base/base.h"

struct message_eol {
    enum { MESSAGE_EOL_FIRST_LINE, MESSAGE_EOL_FROM_LINE, MESSAGE_EOL_REST } state;
    size_t start, matched; /* matched part of ">From " at the beginning of the input, held back */
    bool after_cr;
};

/* Room that `size` bytes may need in the output. */
#define MESSAGE_EOL_ROOM(size) (2 * (size) + sizeof(">From "))

/* Writes to out[MESSAGE_EOL_ROOM(size)] and returns how many bytes. The struct must be zeroed initially. */
size_t message_eol_feed(struct message_eol *eol, const unsigned char *in, size_t size, unsigned char *out) OD_MUST;

/* To be called at the end: writes what is still held back, at most MESSAGE_EOL_ROOM(0) bytes. */
size_t message_eol_end(struct message_eol *eol, unsigned char *out) OD_MUST;

#endif
