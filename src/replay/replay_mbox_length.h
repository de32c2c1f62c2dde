/* SPDX-License-Identifier: ISC
 *
 * Content-Length, which marks the end of a message in some mboxes, which many programs leave wrong, and which a message's
 * sender can set as he likes. It never decides where a message ends. */
#ifndef ONCEDROP_REPLAY_MBOX_LENGTH_H
#define ONCEDROP_REPLAY_MBOX_LENGTH_H

#include "base/base.h"

/* The value of the field; -1: not a number, or larger than any file. */
int64_t mbox_length_read(const char *text) OD_MUST;

/* Whether the next message may begin, or the file ends, at that place. body: the offset of its first byte. */
bool mbox_length_fits(int fd, int64_t body, int64_t length) OD_MUST;

#endif
