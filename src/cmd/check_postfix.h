/* SPDX-License-Identifier: ISC
 *
 * What `oncedrop check` examines in Postfix's settings. */
#ifndef ONCEDROP_CHECK_POSTFIX_H
#define ONCEDROP_CHECK_POSTFIX_H

#include "base/config.h"

/* Examines Postfix's settings, if postconf(1) is installed: does mail come to us, and can none of them bounce it, or
 * keep a Sent copy from being made? directory: of Postfix's configuration; NULL: the default. domain: of the address that
 * is asked about; NULL if none. */
void check_postfix(const struct config *config, const char *directory, const char *domain);

#endif
