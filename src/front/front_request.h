/* SPDX-License-Identifier: ISC
 *
 * What is known of a delivery before its message is read, as the command XDELIVER (see lmtp_deliver.h). */
#ifndef ONCEDROP_FRONT_REQUEST_H
#define ONCEDROP_FRONT_REQUEST_H

#include "base/base.h"

struct front_request {
    const char *socket; /* of the service; points into the command line */
    size_t length;
    char command[4000]; /* without a line end; the service accepts 4096 bytes */
};

/* Reads the command line and the environment.
 *
 * False if the full program must be executed: the command is not a correct `deliver`, there are options before it, the
 * service's socket does not exist, or the values are too long. */
bool front_request_parse(int argc, char **argv, struct front_request *ret) OD_MUST;

#endif
