/* SPDX-License-Identifier: ISC
 *
 * The line that begins with "From " before each message of an mbox, and lines of text that look like it. There is no
 * standard that the programs follow: RFC 4155, appendix A, has an address and a date of ctime(3); others leave out one or
 * both, or the empty line before. What cannot be told apart is not guessed. */
#ifndef ONCEDROP_REPLAY_MBOX_FROM_H
#define ONCEDROP_REPLAY_MBOX_FROM_H

#include <glib.h>

#include "base/base.h"

struct mbox_from {
    enum {
        MBOX_FROM_PROSE,    /* as people write: "From the beginning" */
        MBOX_FROM_DOUBTFUL, /* a word or an address, or a date among other words */
        MBOX_FROM_DATED,    /* one sender or none, and a date, nothing else */
    } kind;
    enum {
        MBOX_FROM_ANYBODY,
        MBOX_FROM_NOBODY, /* nothing behind "From " (Thunderbird) */
        MBOX_FROM_DASH,   /* "From - ", with or without a date (Thunderbird, Netscape) */
        MBOX_FROM_EUDORA, /* ???@??? */
        MBOX_FROM_GMAIL,  /* 1844347792267117879@xxx (Gmail's export) */
        MBOX_FROM_NUMBER, /* -5834534534538434534 (Google Groups) */
        MBOX_FROM_GIT,    /* a commit's hash and 17 September 2001 (git format-patch) */
    } writer;
    char *shape;  /* the line's words by their kind: alike in all lines that one program wrote */
    int64_t time; /* seconds since 1970; 0: not readable */
};

/* What is known of the place where a line stands. */
struct mbox_place {
    bool after_empty;        /* the line before is empty */
    bool after_length;       /* Content-Length ends the message before here */
    bool before_field;       /* the next line is a header field, or a second From_ line */
    bool before_known_field; /* and such a one as headers of mail have */
};

enum mbox_verdict {
    MBOX_TEXT,
    MBOX_BEGINS, /* a message begins behind the line */
    MBOX_UNCLEAR,
};

/* Whether a line may be one of these at all: "From " begins it, or "From" is all of it. */
bool mbox_from_is(const char *line) OD_MUST;

/* Fills *ret for such a line, which is without its end. */
void mbox_from_read(const char *line, struct mbox_from *ret);

void mbox_from_clear(struct mbox_from *from);

/* Whether a file that begins with this line is an mbox: MBOX_BEGINS or MBOX_UNCLEAR. */
enum mbox_verdict mbox_from_judge_first(const struct mbox_from *from, const struct mbox_place *place) OD_MUST;

/* What a later line is. first: the file's first. */
enum mbox_verdict mbox_from_judge(const struct mbox_from *from, const struct mbox_from *first,
                                  const struct mbox_place *place) OD_MUST;

/* Sets *ret's two members by the line behind. */
void mbox_from_look_behind(const char *line, struct mbox_place *ret);

#endif
