/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_CONFIG_SECRET_H
#define ONCEDROP_CONFIG_SECRET_H

#include "base/config_table.h"

/* Reads the password, from systemd's copy if there is one. The error names the setting. */
bool config_secret_read(const struct config_loading *it) OD_MUST;

#endif
