/* SPDX-License-Identifier: ISC
 *
 * Converts received bytes to bytes as appended (message.h), in pieces of any size. An mbox From_ line is a first line
 * that begins with "From " or ">From ". */
#ifndef ONCEDROP_MESSAGE_EOL_H
#define ONCEDROP_MESSAGE_EOL_H

#include "base/base.h"

struct message_eol {
    enum { MESSAGE_EOL_FIRST_LINE, MESSAGE_EOL_FROM_LINE, MESSAGE_EOL_REST } state;
    size_t start, matched; /* part of ">From " held back */
    bool after_cr;
};

#define MESSAGE_EOL_ROOM(size) (2 * (size) + sizeof(">From "))

/* Writes at most MESSAGE_EOL_ROOM(size) bytes; returns how many. The struct must be zeroed initially. */
size_t message_eol_feed(struct message_eol *eol, const unsigned char *in, size_t size, unsigned char *out) OD_MUST;

/* Writes what is still held back, at most MESSAGE_EOL_ROOM(0) bytes. */
size_t message_eol_end(struct message_eol *eol, unsigned char *out) OD_MUST;

#endif
