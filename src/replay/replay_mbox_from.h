/* SPDX-License-Identifier: ISC
 *
 * The line that begins with "From " before each message of an mbox, and lines of text that look like it. Programs
 * follow no common standard: RFC 4155, appendix A, has an address and a date in the form of ctime(3); others omit
 * either or both, or the empty line before. Ambiguous lines are reported, not guessed. */
#ifndef ONCEDROP_REPLAY_MBOX_FROM_H
#define ONCEDROP_REPLAY_MBOX_FROM_H

#include <glib.h>

#include "base/base.h"

/* Such a line and its surroundings. */
struct mbox_from {
    enum {
        MBOX_FROM_PROSE,    /* as in prose: "From the beginning" */
        MBOX_FROM_DOUBTFUL, /* a word or an address, or a date among other words */
        MBOX_FROM_DATED,    /* at most a sender, and a date, nothing else */
    } kind;
    enum {
        MBOX_FROM_ANYBODY,
        MBOX_FROM_NOBODY, /* nothing after "From " (Thunderbird) */
        MBOX_FROM_DASH,   /* "From - ", with or without a date (Thunderbird, Netscape) */
        MBOX_FROM_EUDORA, /* ???@??? */
        MBOX_FROM_GMAIL,  /* 1844347792267117879@xxx (Gmail's export) */
        MBOX_FROM_NUMBER, /* -5834534534538434534 (Google Groups) */
        MBOX_FROM_GIT,    /* a commit's hash and 17 September 2001 (git format-patch) */
    } writer;
    char *shape;             /* the line's words by kind: the same for all lines written by one program */
    int64_t time;            /* seconds since 1970; 0: unreadable */
    bool after_empty;        /* the line before is empty */
    bool after_marker;       /* the line before is one with which a message begins */
    bool before_field;       /* the next line is a header field, or another From_ line */
    bool before_known_field; /* and it is one known from mail headers */
};

enum mbox_verdict {
    MBOX_TEXT,
    MBOX_BEGINS, /* a message begins after the line */
    MBOX_UNCLEAR,
};

/* Whether a line is a candidate at all: it begins with "From ", or consists of "From". */
bool mbox_from_is(const char *line) OD_MUST;

/* Analyses such a line, given without its end; its surroundings are left as they are. */
void mbox_from_read(const char *line, struct mbox_from *ret);

/* Sets the two members that depend on the next line. */
void mbox_from_look_behind(const char *next_line, struct mbox_from *ret);

void mbox_from_clear(struct mbox_from *from);

/* Whether a file that begins with this line is an mbox: MBOX_BEGINS or MBOX_UNCLEAR. */
enum mbox_verdict mbox_from_judge_first(const struct mbox_from *from) OD_MUST;

/* Judges a later line. first: the file's first line. */
enum mbox_verdict mbox_from_judge(const struct mbox_from *from, const struct mbox_from *first) OD_MUST;

/* Content-Length marks the end of a message in some mboxes; many programs leave it wrong, and a message's sender can set it
 * as he likes. It never decides where a message ends.
 *
 * Returns its value; -1: not a number, or larger than any file. */
int64_t mbox_length_read(const char *text) OD_MUST;

/* Whether the next message may begin, or the file ends, at that place. body: the offset of its first byte. */
bool mbox_length_fits(int fd, int64_t body, int64_t length) OD_MUST;

#endif
