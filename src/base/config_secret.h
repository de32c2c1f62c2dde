/* SPDX-License-Identifier: ISC
 *
 * The password of a configuration that is being loaded. */
#ifndef ONCEDROP_CONFIG_SECRET_H
#define ONCEDROP_CONFIG_SECRET_H

#include "base/config_table.h"

/* Reads it: from systemd's copy of the file, if there is one. False with the fault set, which names the setting. */
bool config_secret_read(const struct config_loading *it) OD_MUST;

#endif
