/* SPDX-License-Identifier: ISC
 *
 * Lines between the messages of an mbox. */
#ifndef ONCEDROP_REPLAY_MBOX_FROM_H
#define ONCEDROP_REPLAY_MBOX_FROM_H

#include "base/base.h"

#define MBOX_FROM "From "

/* Parses a From_ line, without its end: "From ", at most one word, and the date of ctime(3), at most with a zone before
 * the year. Returns false for other lines. *ret_time: the date as UTC, in seconds since 1970; 0: unreadable. */
bool mbox_from_read(const char *line, int64_t *ret_time) OD_MUST;

/* Parses the value of Content-Length. Returns -1 if it is no number, or larger than any file. */
int64_t mbox_length_read(const char *text) OD_MUST;

/* Returns true if a From_ line, or the end of the file, follows the body at offset `body`, after two line ends at most. */
bool mbox_length_fits(int fd, int64_t body, int64_t length) OD_MUST;

#endif
