/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_SERVER_H
#define ONCEDROP_SERVER_H

#include "delivery/work.h"

/* Verifies that a server with one credential for all accounts opens the account that a login names. The ledger has the
 * result for all hosts. If it is unknown or a day old, tests an account of this delivery; temporary failures keep an
 * earlier result. Returns false with the reports set if nothing may be appended. Precondition: no lock is taken. */
bool server_identity_verified(struct delivery_work *work) OD_MUST;

#endif
