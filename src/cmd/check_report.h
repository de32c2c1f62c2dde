/* SPDX-License-Identifier: ISC
 *
 * The lines of `oncedrop check`. */
#ifndef ONCEDROP_CHECK_REPORT_H
#define ONCEDROP_CHECK_REPORT_H

#include "base/config.h"

/* "ok" or "failed", the item's name, and a text that says what to do when it failed. Returns good. */
bool check_item(bool good, const char *name, const char *format, ...) OD_PRINTF(3, 4);

void check_warning(const char *name, const char *format, ...) OD_PRINTF(2, 3);

/* How many items failed so far. */
int check_failures(void) OD_MUST;

/* Looks at Postfix's settings, when postconf(1) is there: limits that do not fit ours. max_connections: of the database,
 * 0 when not known. directory: of Postfix's configuration, NULL: the default. */
void check_postfix(const struct config *config, int64_t max_connections, const char *directory);

#endif
