/* SPDX-License-Identifier: ISC
 *
 * The message as it arrives on standard input. It is kept until the service has it, so that the full program can still
 * get it. */
#ifndef ONCEDROP_FRONT_MESSAGE_H
#define ONCEDROP_FRONT_MESSAGE_H

#include "base/base.h"

#define FRONT_MESSAGE_SMALL ((size_t)64 << 10) /* up to this size it is kept in the process */
#define FRONT_MESSAGE_FILE ((size_t)16 << 20)  /* from this size on in a temporary file, between in a memfd */

struct front_message {
    size_t size;
    int fd; /* of the memfd or file; -1: it is in `bytes` */
    unsigned char *bytes;
};

enum front_read {
    FRONT_READ_OK,
    FRONT_READ_NOTHING, /* nothing could be read: standard input is as it was */
    FRONT_READ_TROUBLE, /* the fault says why; what was read is lost */
};

/* Reads standard input to its end. On FRONT_READ_OK *ret is set; it is not to be freed. */
enum front_read front_message_read(struct front_message *ret, struct fault *fault) OD_MUST;

/* Makes the message standard input, from its beginning; false with the fault set if that fails. */
bool front_message_restore(struct front_message *message, struct fault *fault) OD_MUST;

#endif
