/* SPDX-License-Identifier: ISC
 *
 * Is a message in its mailbox? One search, one answer (enum search_result): for a delivery in doubt (search.c),
 * `replay --verify` and `restore` (verify.c), `show --verify` and `list --missing` (cmd/verify_copy.c), and
 * `check --send`. */
#ifndef ONCEDROP_PRESENCE_H
#define ONCEDROP_PRESENCE_H

#include "delivery/sessions.h"
#include "message/message.h"

#define PRESENCE_NEWEST 500 /* messages of Sent that are compared by Message-ID */

struct presence_query {
    struct sessions *sessions; /* the account's session must be available */
    enum sessions_age age;
    const struct config *server;
    const char *account, *mailbox;
    const struct message *message; /* if data is NULL: only digest, size and Message-ID are known */
    const unsigned char (*variants)[MESSAGE_DIGEST_SIZE]; /* message_comparison_set_variants() */
    size_t variant_count;
    int64_t received_at; /* INTERNALDATE */
    bool by_id;          /* the Message-ID decides, if there is one: a mail program may have stored a Sent copy */
    uint32_t newest;     /* with by_id: the number of newest messages to compare */
    bool newest_only;    /* no other ones */
    bool doubt;          /* it may be there: absence counts only by whole headers (struct search) */
    bool notice;         /* a notice may be in the message's place */
    int64_t retry_ms;    /* a second try needs this much time before the deadline */
};

struct presence_place {
    uint32_t uidvalidity, uid;
    bool notice; /* it is a notice */
};

/* Searches the mailbox on the account's session, and once more on a new one if a reused session fails. With imap.match =
 * message-id, the Message-ID decides.
 *
 * Returns SEARCH_PRESENT with *ret set, SEARCH_MISSING, or SEARCH_UNKNOWN with the error set: the search failed, or the
 * message's bytes are not known and what was found may be it, changed by the server. */
enum search_result presence_search(const struct presence_query *query, struct presence_place *ret,
                                   struct error *error) OD_MUST;

/* After SEARCH_MISSING, finds out why by the place that is recorded: mailbox_explain_missing(). */
enum search_result presence_explain_missing(const struct presence_query *query, const struct presence_place *recorded,
                                            struct error *error) OD_MUST;

#endif
