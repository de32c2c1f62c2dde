/* SPDX-License-Identifier: ISC
 *
 * What postgres.c knows of the fates (wire.c). */
#ifndef ONCEDROP_DIFFERENTIAL_WIRE_H
#define ONCEDROP_DIFFERENTIAL_WIRE_H

#include "base/config.h"

struct pg;
struct sql;

/* Once the warden has its session, and before any ledger has one. */
void wire_open(enum lock_method method);

/* What a session uses; NULL if there is none. */
struct pg *wire_connection(const struct sql *sql) OD_MUST;

/* The server process of the late batch, or 0. */
int wire_late(void) OD_MUST;

#endif
