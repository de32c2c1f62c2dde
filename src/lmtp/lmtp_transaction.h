/* SPDX-License-Identifier: ISC
 *
 * The envelope of the next message, from MAIL, RCPT and XFORWARD (RFC 2033, RFC 5321, 4.1.1). */
#ifndef ONCEDROP_LMTP_TRANSACTION_H
#define ONCEDROP_LMTP_TRANSACTION_H

#include <glib.h>

#include "lmtp/lmtp_stream.h"
#include "route/address.h"

#define LMTP_RECIPIENTS_MAX 1000

struct lmtp_recipient {
    char *path;             /* as given by RCPT ... */
    struct address address; /* ... and parsed */
    char *original;         /* ORCPT, or NULL */
};

/* The reply to RCPT for a recipient that is not accepted now, "CODE D.S.N text", a new string; NULL: it is accepted. */
typedef char *lmtp_objection(void *context, const struct address *address);

struct lmtp_transaction {
    struct lmtp_stream *stream; /* where replies go */
    lmtp_objection *objection;  /* asked at each RCPT; NULL: there is none */
    void *context;              /* of objection */
    int64_t size_limit;         /* largest message in bytes; 0: no limit */
    char *sender;               /* NULL before MAIL */
    GArray *recipients;         /* of struct lmtp_recipient */
    char *queue_id;             /* XFORWARD IDENT, which precedes MAIL; NULL: unknown */
};

/* Empty; must be cleared with lmtp_transaction_clear. */
struct lmtp_transaction lmtp_transaction_new(struct lmtp_stream *stream, int64_t size_limit) OD_MUST;
void lmtp_transaction_clear(struct lmtp_transaction *transaction);

/* Empties it for the next message. */
void lmtp_transaction_reset(struct lmtp_transaction *transaction);

/* Evaluate the arguments of a command, and reply; a command that is refused changes nothing. False: the client made a
 * mistake, which is to be counted. */
bool lmtp_transaction_mail(struct lmtp_transaction *transaction, const char *arguments) OD_MUST;
bool lmtp_transaction_rcpt(struct lmtp_transaction *transaction, const char *arguments) OD_MUST;
void lmtp_transaction_xforward(struct lmtp_transaction *transaction, const char *arguments);

#endif
