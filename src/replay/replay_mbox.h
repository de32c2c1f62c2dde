/* SPDX-License-Identifier: ISC
 *
 * The mbox format (mbox(5), RFC 4155). Its dialect is declared. A file that contradicts it is rejected: a wrong beginning
 * would make two messages of one, and a missed one would join two. */
#ifndef ONCEDROP_REPLAY_MBOX_H
#define ONCEDROP_REPLAY_MBOX_H

#include <glib.h>

#include "base/base.h"

enum mbox_dialect {
    MBOX_RD,  /* ">From " was "From ", ">>From " was ">From ", ... */
    MBOX_O,   /* ">From " was "From " */
    MBOX_CL2, /* nothing is quoted, since Content-Length says where each message ends; also for a single message */
};

struct mbox_message {
    int64_t offset, size; /* bytes, without From_ line and the empty line after */
    int64_t from_time;    /* seconds since 1970; 0: unreadable */
};

/* Scans fd from its beginning.
 *
 * *ret_messages  new array of struct mbox_message; NULL if this is no mbox
 *
 * Returns false with the error set on a read error, or if a line contradicts the dialect or may be read in two ways. */
bool mbox_scan(int fd, enum mbox_dialect dialect, GArray **ret_messages, struct error *error) OD_MUST;

/* Removes quoting from pieces of any size. Initially zero except `dialect`. */
struct mbox_unquote {
    enum mbox_dialect dialect;
    bool inside;           /* within a line, after its start */
    size_t marks, matched; /* '>' and bytes of "From " held back */
    bool met;              /* ">...From " occurred: dialects differ */
};

/* Append unquoted bytes to out. */
void mbox_unquote_feed(struct mbox_unquote *unquote, const char *bytes, size_t size, GString *out);
void mbox_unquote_end(struct mbox_unquote *unquote, GString *out);

#endif
