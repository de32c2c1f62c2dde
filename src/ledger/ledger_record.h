/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_LEDGER_RECORD_H
#define ONCEDROP_LEDGER_RECORD_H

#include "ledger/ledger_session.h"

void ledger_add_record(struct ledger *ledger, const struct ledger_message *message, int64_t received_at,
                       const struct decoded *decoded);

#endif
