/* SPDX-License-Identifier: ISC
 *
 * The command XDELIVER (lmtp_deliver.h), known before the message. */
#ifndef ONCEDROP_FRONT_REQUEST_H
#define ONCEDROP_FRONT_REQUEST_H

#include "base/base.h"

struct front_request {
    const char *socket; /* the service's, in argv */
    size_t length;
    char command[4000]; /* without line end; the service accepts 4096 bytes */
};

/* Parses command line and environment. Returns false, for the full program, if it is not a correct `deliver`,
 * options precede it, the service has no socket, or values are too long. */
bool front_request_parse(int argc, char **argv, struct front_request *ret) OD_MUST;

#endif
