/* SPDX-License-Identifier: ISC
 *
 * The envelope, from MAIL, RCPT and XFORWARD (RFC 2033, RFC 5321, 4.1.1). */
#ifndef ONCEDROP_LMTP_TRANSACTION_H
#define ONCEDROP_LMTP_TRANSACTION_H

#include <glib.h>

#include "lmtp/lmtp_stream.h"
#include "route/address.h"

#define LMTP_RECIPIENTS_MAX 1000

struct lmtp_recipient {
    char *path;
    struct address address;
    char *original; /* ORCPT, or NULL */
};

/* Returns RCPT's reply "CODE D.S.N text", a new string, for a refused recipient; else NULL. */
typedef char *lmtp_objection(void *context, const struct address *address);

struct lmtp_transaction {
    struct lmtp_stream *stream;
    lmtp_objection *objection; /* may be NULL */
    void *context;
    int64_t size_limit; /* bytes per message; 0: none */
    char *sender;       /* NULL before MAIL */
    GArray *recipients; /* of struct lmtp_recipient */
    char *queue_id;     /* XFORWARD IDENT, which precedes MAIL; or NULL */
};

struct lmtp_transaction lmtp_transaction_new(struct lmtp_stream *stream, int64_t size_limit) OD_MUST;
void lmtp_transaction_clear(struct lmtp_transaction *transaction);

/* Clears it for the next message. */
void lmtp_transaction_reset(struct lmtp_transaction *transaction);

/* Handle a command, and reply. A refused command changes nothing. False: a client error, to be counted. */
bool lmtp_transaction_mail(struct lmtp_transaction *transaction, const char *arguments) OD_MUST;
bool lmtp_transaction_rcpt(struct lmtp_transaction *transaction, const char *arguments) OD_MUST;
void lmtp_transaction_xforward(struct lmtp_transaction *transaction, const char *arguments);

#endif
