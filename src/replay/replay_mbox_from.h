/* SPDX-License-Identifier: ISC
 *
 * From_ lines, and text that looks like them. Programs write an address, a ctime(3) date (RFC 4155, appendix A), both
 * or neither, and may omit the empty line before. Ambiguous lines are reported, not guessed. */
#ifndef ONCEDROP_REPLAY_MBOX_FROM_H
#define ONCEDROP_REPLAY_MBOX_FROM_H

#include <glib.h>

#include "base/base.h"

/* Such a line and its surroundings. */
struct mbox_from {
    enum {
        MBOX_FROM_PROSE,    /* "From the beginning" */
        MBOX_FROM_DOUBTFUL, /* a word, an address, or a date among words */
        MBOX_FROM_DATED,    /* a date, at most after a sender */
    } kind;
    enum {
        MBOX_FROM_ANY_SENDER,
        MBOX_FROM_NO_SENDER, /* nothing after "From " (Thunderbird) */
        MBOX_FROM_DASH,      /* "From - " (Thunderbird, Netscape) */
        MBOX_FROM_EUDORA,    /* ???@??? */
        MBOX_FROM_GMAIL,     /* 1844347792267117879@xxx (Gmail) */
        MBOX_FROM_NUMBER,    /* -5834534534538434534 (Google Groups) */
        MBOX_FROM_GIT,       /* a hash and 17 September 2001 (git format-patch) */
    } writer;
    char *shape;  /* its words' kinds, equal for one program */
    int64_t time; /* seconds since 1970; 0: unreadable */
    bool after_empty;
    bool after_marker;       /* the line before begins a message */
    bool before_field;       /* next is a header field or From_ line */
    bool before_known_field; /* known from mail headers */
};

enum mbox_verdict {
    MBOX_TEXT,
    MBOX_BEGINS, /* a message begins after the line */
    MBOX_UNCLEAR,
};

/* Returns true for "From", or "From " and more. */
bool mbox_from_is(const char *line) OD_MUST;

/* Parses such a line, without its end; keeps the surroundings. */
void mbox_from_read(const char *line, struct mbox_from *ret);

/* Sets the members of the next line. */
void mbox_from_read_next(const char *next_line, struct mbox_from *ret);

void mbox_from_clear(struct mbox_from *from);

/* Returns MBOX_BEGINS (an mbox) or MBOX_UNCLEAR. */
enum mbox_verdict mbox_from_classify_first(const struct mbox_from *from) OD_MUST;

/* first: the file's first line. */
enum mbox_verdict mbox_from_classify(const struct mbox_from *from, const struct mbox_from *first) OD_MUST;

/* Parses Content-Length, which never decides where a message ends: programs and senders set it wrong. Returns -1 if it
 * is no number, or larger than any file. */
int64_t mbox_length_read(const char *text) OD_MUST;

/* Returns true if a message may begin, or the file ends, after the body at offset `body`. */
bool mbox_length_fits(int fd, int64_t body, int64_t length) OD_MUST;

#endif
