/* SPDX-License-Identifier: ISC
 *
 * The mbox format and its dialects (mbox(5), RFC 4155). */
#ifndef ONCEDROP_REPLAY_MBOX_H
#define ONCEDROP_REPLAY_MBOX_H

#include <glib.h>

#include "base/base.h"

enum mbox_quoting {
    MBOX_PLAIN, /* nothing is quoted: a single message, or mboxcl2 */
    MBOX_O,     /* ">From " was "From " (mboxo) */
    MBOX_RD,    /* ">From " was "From ", ">>From " was ">From ", ... (mboxrd) */
};

struct mbox_message {
    int64_t offset, size; /* bytes, without From_ line and the empty line after */
    int64_t from_time;    /* seconds since 1970; 0: unreadable */
};

/* Scans fd from its beginning.
 *
 * *ret_messages  new array of struct mbox_message; NULL if this is no mbox
 * *ret_quoting   the dialect: if no Content-Length fits, MBOX_RD if ">>From " occurs
 *
 * Content-Length never divides or joins. Returns false with the error set on a read error or an ambiguous line, such as
 * a possible beginning within a fitting Content-Length. */
bool mbox_scan(int fd, GArray **ret_messages, enum mbox_quoting *ret_quoting, struct error *error) OD_MUST;

/* Removes quoting from pieces of any size. Initially zero except `quoting`. */
struct mbox_unquote {
    enum mbox_quoting quoting;
    bool inside;           /* within a line, after its start */
    size_t marks, matched; /* '>' and bytes of "From " held back */
    bool met;              /* ">...From " occurred: dialects differ */
};

/* Append unquoted bytes to out. */
void mbox_unquote_feed(struct mbox_unquote *unquote, const char *bytes, size_t size, GString *out);
void mbox_unquote_end(struct mbox_unquote *unquote, GString *out);

#endif
