/* SPDX-License-Identifier: ISC
 *
 * What all hosts know of an IMAP server: whether it looks at the account that a login names (mailbox_identity). Looking
 * costs logins, one of them refused, which must not come from every delivery at once: so one that sets out says so. */
#ifndef ONCEDROP_LEDGER_SERVER_H
#define ONCEDROP_LEDGER_SERVER_H

#include "ledger/ledger.h"

#define LEDGER_SERVER_HONOURED_MS (24 * INT64_C(3600000)) /* how long a good answer stands before another look */
#define LEDGER_SERVER_REFUSED_MS (10 * INT64_C(60000))    /* a bad one: a mended server is used again by itself */

enum ledger_server {
    LEDGER_SERVER_NEW, /* never found out */
    LEDGER_SERVER_HONOURED,
    LEDGER_SERVER_IGNORED,
};

/* What is known of a server (mailbox_server). *ret_look: it is for the caller to look again, and to say what it finds;
 * nobody else is told so for the next LEDGER_SERVER_REFUSED_MS. With LEDGER_SERVER_NEW it always is. Outside of any
 * transaction. False with the fault set on trouble. */
bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_look,
                        struct fault *fault) OD_MUST;

/* Writes down what was found. False with the fault set on trouble. */
bool ledger_server_record(struct ledger *ledger, const char *server, bool honoured, struct fault *fault) OD_MUST;

#endif
