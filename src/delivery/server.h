/* SPDX-License-Identifier: ISC
 *
 * Whether the IMAP server may be trusted to open the account that is named to it: found out once, kept in the ledger for
 * all hosts, looked into again once a day. */
#ifndef ONCEDROP_SERVER_H
#define ONCEDROP_SERVER_H

#include "delivery/work.h"

/* To be asked after targets_collect, before any lock is taken. Where one credential opens every account, the server must
 * have been found to look at the account; if that is not known, or it is time, this delivery looks, with one of its own
 * accounts. A server that was found good stays so when another look meets trouble.
 *
 * False: nothing may be appended; the outcome and the fault are set. */
bool server_trusted(struct delivery_work *work, enum outcome *ret, struct fault *fault) OD_MUST;

#endif
