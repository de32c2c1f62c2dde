/* SPDX-License-Identifier: ISC
 *
 * Content-Length, which marks the end of a message in some mboxes, and which many programs leave wrong. */
#ifndef ONCEDROP_REPLAY_MBOX_LENGTH_H
#define ONCEDROP_REPLAY_MBOX_LENGTH_H

#include "base/base.h"

/* The value of the field; -1: not a number, or larger than any file. */
int64_t mbox_length_read(const char *text) OD_MUST;

/* Whether to believe it: the next message begins, or the file ends, at that place. body: the offset of its first
 * byte. */
bool mbox_length_fits(int fd, int64_t body, int64_t length) OD_MUST;

#endif
