/* SPDX-License-Identifier: ISC
 *
 * Content-Length, by which some mboxes tell where a message ends, and which many programs leave wrong. */
#ifndef ONCEDROP_REPLAY_MBOX_LENGTH_H
#define ONCEDROP_REPLAY_MBOX_LENGTH_H

#include "base/base.h"

/* The field's value; -1: no number, or one that no file reaches. */
int64_t mbox_length_read(const char *text) OD_MUST;

/* Whether it is to be believed: a message begins, or the file ends, where it says. body: the offset of its first byte. */
bool mbox_length_fits(int fd, int64_t body, int64_t length) OD_MUST;

#endif
