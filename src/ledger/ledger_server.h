/* SPDX-License-Identifier: ISC
 *
 * What all hosts know about an IMAP server: whether it honours the account that a login names (mailbox_identity).
 * Finding out costs logins, one of them refused, and not every delivery should do it at once; so a process that begins
 * a look announces it here. */
#ifndef ONCEDROP_LEDGER_SERVER_H
#define ONCEDROP_LEDGER_SERVER_H

#include "ledger/ledger.h"

#define LEDGER_SERVER_HONOURED_MS (24 * INT64_C(3600000)) /* how long a good result is valid */
#define LEDGER_SERVER_REFUSED_MS (10 * INT64_C(60000))    /* a bad one: a server that was repaired is soon used again */

enum ledger_server {
    LEDGER_SERVER_NEW, /* never examined */
    LEDGER_SERVER_HONOURED,
    LEDGER_SERVER_IGNORED,
};

/* Reads what is known about a server (mailbox_server). *ret_look: the caller is to examine the server and record the
 * result; nobody else is asked to for the next LEDGER_SERVER_REFUSED_MS. Always true with LEDGER_SERVER_NEW. Must be
 * called outside of a transaction. False with the fault set on trouble. */
bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_look,
                        struct fault *fault) OD_MUST;

/* Records the result of a look. False with the fault set on trouble. */
bool ledger_server_record(struct ledger *ledger, const char *server, bool honoured, struct fault *fault) OD_MUST;

/* Adds all queries and updates about a server to a batch, for the check. */
void ledger_add_server(struct ledger *ledger);

#endif
