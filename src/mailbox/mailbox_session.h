/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_MAILBOX_SESSION_H
#define ONCEDROP_MAILBOX_SESSION_H

#include "imap/imap.h"
#include "mailbox/mailbox.h"
#include "mailbox/mailbox_namespace.h"

enum append_step {
    APPEND_NONE,
    APPEND_BEGUN, /* command sent */
    APPEND_FED,   /* literal begun */
    APPEND_OVER,  /* result known */
};

struct appending {
    enum append_step step;
    struct append append;
    char *name;
    bool settled;   /* append_again has run */
    bool complete;  /* the literal was sent, ... */
    int64_t fed_ms; /* ... at this time */
    /* APPEND_OVER: why not stored */
    enum append_result result;
    struct error why;
    bool maybe_missing; /* the refusal may mean a missing mailbox, ... */
    bool fed;           /* ... came after the literal, ... */
    bool impossible;    /* ... and is permanent */
};

struct mailbox {
    struct imap *imap;
    struct appending appending;
    bool create;    /* imap.create */
    bool subscribe; /* imap.subscribe, if the login is the owner's */
    bool shared;    /* config_is_shared */
    struct mailbox_namespaces namespaces;
    char *sent;         /* server's name of \Sent; NULL: unknown */
    bool sent_unmarked; /* none is marked \Sent: the name is ours */
};

/* mailbox_open.c: like mailbox_open(), with this login. End it by imap_setup_end. *ret_refused: credentials refused. */
struct imap *mailbox_open_as(const struct config *config, const char *account, const char *login, int64_t limit_ms,
                             bool *ret_refused, struct error *error) OD_MUST;

#endif
