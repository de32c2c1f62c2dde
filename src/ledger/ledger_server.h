/* SPDX-License-Identifier: ISC
 *
 * What all hosts know of an IMAP server: whether its identity is verified, that is, it honours the account that a
 * login names (mailbox_identity). To examine it costs logins, one of them refused: one process does it, and others
 * skip it. */
#ifndef ONCEDROP_LEDGER_SERVER_H
#define ONCEDROP_LEDGER_SERVER_H

#include "ledger/ledger.h"

#define LEDGER_SERVER_VERIFIED_MS (24 * INT64_C(3600000)) /* validity of a good result */
#define LEDGER_SERVER_REFUSED_MS (10 * INT64_C(60000))    /* of a bad one: a repaired server is soon used again */

enum ledger_server {
    LEDGER_SERVER_NEW,
    LEDGER_SERVER_VERIFIED,
    LEDGER_SERVER_IGNORED,
};

/* Reads the result, outside of a transaction. *ret_due: the caller must examine the server (mailbox_server) and record
 * the result; others skip it for LEDGER_SERVER_REFUSED_MS. Always true with LEDGER_SERVER_NEW. */
bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_due,
                        struct error *error) OD_MUST;

bool ledger_server_record(struct ledger *ledger, const char *server, bool verified, struct error *error) OD_MUST;

void ledger_add_server(struct ledger *ledger);

#endif
