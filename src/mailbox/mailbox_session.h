/* SPDX-License-Identifier: ISC
 *
 * What a session is made of. */
#ifndef ONCEDROP_MAILBOX_SESSION_H
#define ONCEDROP_MAILBOX_SESSION_H

#include "imap/imap.h"
#include "mailbox/mailbox.h"
#include "mailbox/mailbox_namespace.h"

enum append_step {
    APPEND_NONE,
    APPEND_BEGUN, /* the command was sent */
    APPEND_FED,   /* the literal was begun */
    APPEND_OVER,  /* the result is known */
};

/* The APPEND under way. */
struct appending {
    enum append_step step;
    struct append append;
    char *name;     /* as sent */
    bool settled;   /* whether the mailbox is missing was found out, and what could be done was */
    bool whole;     /* all of the literal was sent, ... */
    int64_t fed_ms; /* ... at this time */
    /* APPEND_OVER: not stored, and why */
    enum append_result result;
    struct fault why;
    bool perhaps_missing; /* the refusal may mean, to some servers, that there is no such mailbox, ... */
    bool fed;             /* ... came after the literal, ... */
    bool never;           /* ... and will be the same for ever */
};

struct mailbox {
    struct imap *imap;
    struct appending appending;
    bool create;    /* imap.create */
    bool subscribe; /* imap.subscribe, if the login is the owner's */
    bool shared;    /* config_is_shared */
    struct mailbox_namespaces namespaces;
    char *sent;         /* the \Sent mailbox, as named by the server; NULL: not looked up yet */
    bool sent_unmarked; /* no mailbox is marked \Sent: it is one that we name */
};

/* mailbox_open.c: logs in as mailbox_open does, but with this login instead of the one that the settings make of the
 * account; to be ended with imap_setup_end. *ret_refused, if there is no connection: the server refused the
 * credentials. */
struct imap *mailbox_open_as(const struct config *config, const char *account, const char *login, int64_t limit_ms,
                             bool *ret_refused, struct fault *fault) OD_MUST;

#endif
