/* SPDX-License-Identifier: ISC
 *
 * What real.c knows of the fates: the ledgers' sessions are opened and fed by an engine that arranges them (batch_faults.c). */
#ifndef ONCEDROP_DIFFERENTIAL_BATCH_FAULTS_H
#define ONCEDROP_DIFFERENTIAL_BATCH_FAULTS_H

#include "ledger/ledger_internal.h"

/* Once the engine is loaded, and before any ledger has a session. The engine for sessions without fates. */
const struct sql_engine *batch_faults_open(const struct config *config, struct error *error) OD_MUST;

/* A ledger's session; NULL if it has none. */
struct sql_session *batch_faults_session(const struct ledger *ledger) OD_MUST;

/* The number of the session with the late batch, or 0. */
int64_t batch_faults_late(void) OD_MUST;

#endif
