/* SPDX-License-Identifier: ISC
 *
 * What postgres.c knows of the fates (wire.c). */
#ifndef ONCEDROP_DIFFERENTIAL_WIRE_H
#define ONCEDROP_DIFFERENTIAL_WIRE_H

#include "base/config.h"

/* Once the warden has its session. */
void wire_open(enum lock_method method);

/* The server process of the late batch, or 0. */
int wire_late(void) OD_MUST;

#endif
