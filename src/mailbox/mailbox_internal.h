/* SPDX-License-Identifier: ISC
 *
 * What the files of mailbox/ share. */
#ifndef ONCEDROP_MAILBOX_INTERNAL_H
#define ONCEDROP_MAILBOX_INTERNAL_H

#include <glib.h>

#include "base/base.h"
#include "imap/imap.h"
#include "mailbox/mailbox.h"

/* mailbox_folder.c maps names to the account's namespace (RFC 2342): settings, routes and the ledger say "Lists/work",
 * which becomes "INBOX.Lists.work" only there. The ledger's name is part of a copy's identity. {0}: not reported; names
 * stay unchanged. */
struct mailbox_namespaces {
    bool asked;
    char *own;           /* prefix of own mailboxes; NULL: not reported */
    char separator;      /* 0: none */
    GPtrArray *prefixes; /* of all namespaces, if not empty; NULL: none */
};

void mailbox_namespace_clear(struct mailbox_namespaces *namespaces);

/* mailbox_append.c: an APPEND in progress. */

enum append_step {
    APPEND_NONE,
    APPEND_BEGUN, /* command sent, and an early literal up to its last byte */
    APPEND_FED,   /* literal begun, an early one completed */
    APPEND_OVER,  /* result known */
};

struct appending {
    enum append_step step;
    struct append append;
    char *name;
    char *line;           /* the command */
    struct iovec *pieces; /* command, message and CRLF: */
    size_t size, sent;    /* bytes */
    bool early;           /* a literal that does not wait for '+' */
    bool tried_again;     /* append_again has run */
    bool complete;        /* the literal was sent, ... */
    int64_t sent_ms;      /* ... at this time */
    /* APPEND_OVER: why not stored */
    enum append_result result;
    struct error why;
    bool maybe_missing; /* the refusal may mean a missing mailbox, ... */
    bool after_literal; /* ... came after the literal, ... */
    bool impossible;    /* ... and is permanent */
};

void mailbox_append_clear(struct appending *appending);

/* mailbox_open.c: a session. */

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

/* Like mailbox_open(), with this login. End it by imap_setup_end. *ret_refused: credentials refused. */
struct imap *mailbox_open_as(const struct config *config, const char *account, const char *login, int64_t limit_ms,
                             bool *ret_refused, struct error *error) OD_MUST;

/* mailbox_candidates.c */

/* What is read first (search_hits() in mailbox_search.c decides), to leave out messages with another Message-ID. Servers keep single fields in a cache. Dovecot 2.3,
 * killed while it stored messages, was seen to report one message's Message-ID for another, and to search by it. */
enum ids_first {
    IDS_NONE,    /* nothing: each message is compared at once */
    IDS_FIELDS,  /* BODY[HEADER.FIELDS (MESSAGE-ID)]: small, but may be wrong */
    IDS_HEADERS, /* BODY[HEADER], which servers read from the message itself */
};

/* Compares messages of the open mailbox until one is the same (struct search). With IDS_FIELDS a message that is found
 * is ours, but SEARCH_MISSING is not certain. */
enum search_result mailbox_candidates(struct imap *imap, const struct search *search, enum ids_first ids_first,
                                      const uint32_t *uids, size_t count, uint32_t *ret_uid,
                                      struct error *error) OD_MUST;

/* Passes BODY[] of a message of the open mailbox on, as mailbox_fetch() does. *ret_there: it was reported. */
bool mailbox_candidates_read(struct imap *imap, uint32_t uid,
                             void (*take)(void *context, const void *bytes, size_t size), void *context,
                             bool *ret_there, struct error *error) OD_MUST;

/* Like mailbox_candidates() with IDS_FIELDS, for the newest of `exists` messages. */
enum search_result mailbox_candidates_newest(struct imap *imap, const struct search *search, uint32_t exists,
                                             uint32_t *ret_uid, struct error *error) OD_MUST;

/* mailbox_folder.c
 * Names, finds and creates mailboxes. Functions that fail set the error. */

/* Returns a new string: the name to send, in modified UTF-7, quoted, with namespace and \Sent resolved. The functions
 * below take such names. Fails without a response, or if no such mailbox can exist. */
char *mailbox_folder_name(struct mailbox *mailbox, const char *name, struct error *error) OD_MUST;

/* Asks LIST. Returns false without a response. */
bool mailbox_folder_exists(struct imap *imap, const char *name, bool *ret_exists, struct error *error) OD_MUST;

enum mailbox_created {
    CREATE_ERROR,      /* not created, or unknown */
    CREATE_IMPOSSIBLE, /* name, rights or imap.create forbid it: a retry does not help */
    CREATE_EXISTS,     /* not by us */
    CREATE_DONE,
};

/* mailbox_create.c: sends CREATE, if the settings allow it. Never creates an INBOX, or anything in an account without
 * one: servers may accept logins of nonexistent accounts. owners: `home` of struct append; this inbox counts as
 * CREATE_EXISTS. */
enum mailbox_created mailbox_create(struct mailbox *mailbox, const char *name, const char *owners,
                                    struct error *error) OD_MUST;

/* Sends SUBSCRIBE, if the settings allow it; also after another delivery's CREATE: that process may have died. Logs a
 * failure. */
void mailbox_subscribe(struct mailbox *mailbox, const char *name);

/* mailbox_refusal.c */

/* Returns the meaning of a NO or BAD to APPEND. */
enum append_result mailbox_refusal(const struct imap_reply *reply, bool literal_sent) OD_MUST;

/* Returns true if the mailbox may not exist; only LIST distinguishes that from a temporary failure. */
bool mailbox_refusal_maybe_missing(const struct imap_reply *reply) OD_MUST;

/* Returns true if a refusal of CREATE, or of APPEND before the literal, is permanent: name or rights. */
bool mailbox_refusal_is_permanent(const struct imap_reply *reply) OD_MUST;

#endif
