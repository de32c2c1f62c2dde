/* SPDX-License-Identifier: ISC
 *
 * What `oncedrop check` examines of the resident service. */
#ifndef ONCEDROP_CHECK_SERVICE_H
#define ONCEDROP_CHECK_SERVICE_H

#include "base/config.h"

/* Whether the service answers on its unix socket, whom it believes, and whether it runs with this configuration. Reports
 * nothing if there is no socket, since a service need not run. May wait for long. */
void check_service(const struct config *config);

#endif
