/* SPDX-License-Identifier: ISC
 *
 * The mbox format in its dialects (mbox(5), RFC 4155): where each message begins and ends, and how "From " at the start of
 * a line was kept from looking like a beginning. */
#ifndef ONCEDROP_REPLAY_MBOX_H
#define ONCEDROP_REPLAY_MBOX_H

#include <glib.h>

#include "base/base.h"

enum mbox_quoting {
    MBOX_PLAIN, /* nothing is quoted: a single message, or Content-Length tells the end (mboxcl2) */
    MBOX_O,     /* ">From " was "From " (mboxo) */
    MBOX_RD,    /* ">From " was "From ", ">>From " was ">From ", ... (mboxrd) */
};

struct mbox_message {
    int64_t offset, size; /* bytes in the file, without From_ line and the empty line behind the message */
    int64_t from_time;    /* of the From_ line, seconds since 1970; 0: not readable */
};

/* Reads fd from its beginning. What begins with "From " is an mbox (replay_mbox_from.h: where its messages begin).
 *
 * *ret_messages  new array of struct mbox_message; NULL when this is no mbox
 * *ret_quoting   the dialect, by what is found: without any Content-Length that fits, MBOX_RD when ">>From " occurs
 *
 * False with the fault set on a read error, or when it cannot be told what a line is: "line N: ..." and what helps. */
bool mbox_scan(int fd, GArray **ret_messages, enum mbox_quoting *ret_quoting, struct fault *fault) OD_MUST;

/* Takes quoting off, piece by piece; begins zeroed but for `quoting`. */
struct mbox_unquote {
    enum mbox_quoting quoting;
    bool inside;           /* a line whose beginning was dealt with */
    size_t marks, matched; /* '>' and bytes of "From " held back */
    bool met;              /* a line that begins with ">...From " was met: dialects differ */
};

/* Appends what the bytes become to out. */
void mbox_unquote_feed(struct mbox_unquote *unquote, const char *bytes, size_t size, GString *out);
void mbox_unquote_end(struct mbox_unquote *unquote, GString *out);

#endif
