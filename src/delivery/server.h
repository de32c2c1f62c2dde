/* SPDX-License-Identifier: ISC
 *
 * Whether the IMAP server can be trusted to open the account that a login names. This is found out once, kept in the
 * ledger for all hosts, and checked again once a day. */
#ifndef ONCEDROP_SERVER_H
#define ONCEDROP_SERVER_H

#include "delivery/work.h"

/* After targets_collect, before any lock is taken. If one credential opens every account, the server must
 * have been found to honour the account named. If that is unknown, or due for a check, this delivery checks it with one
 * of its own accounts. A server that was found good remains so if a later check meets trouble.
 *
 * False: nothing may be appended; the recipients have their answer. */
bool server_trusted(struct delivery_work *work) OD_MUST;

#endif
