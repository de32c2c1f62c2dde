/* SPDX-License-Identifier: ISC
 *
 * What real.c knows of the fates: the ledgers' sessions are opened and fed by an engine that arranges them (fates.c). */
#ifndef ONCEDROP_DIFFERENTIAL_FATES_H
#define ONCEDROP_DIFFERENTIAL_FATES_H

#include "ledger/ledger_session.h"

/* Once the engine is loaded, and before any ledger has a session. The engine for sessions without fates. */
const struct sql_engine *fates_open(const struct config *config, struct error *error) OD_MUST;

/* A ledger's session; NULL if it has none. */
struct sql_session *fates_session(const struct ledger *ledger) OD_MUST;

/* The number of the session with the late batch, or 0. */
int64_t fates_late(void) OD_MUST;

#endif
