/* SPDX-License-Identifier: ISC
 *
 * The message on standard input, kept until the service has it: the full program may need it. */
#ifndef ONCEDROP_FRONT_MESSAGE_H
#define ONCEDROP_FRONT_MESSAGE_H

#include "base/base.h"

#define FRONT_MESSAGE_SMALL ((size_t)64 << 10) /* in the process up to this size */
#define FRONT_MESSAGE_FILE ((size_t)16 << 20)  /* from this size on in a temp file, else a memfd */

struct front_message {
    size_t size;
    int fd; /* memfd or file; -1: `bytes` */
    unsigned char *bytes;
};

enum front_read {
    FRONT_READ_OK,
    FRONT_READ_NOTHING, /* standard input is unchanged */
    FRONT_READ_ERROR,   /* what was read is lost */
};

/* Reads standard input to its end. On FRONT_READ_OK sets *ret, which is not freed. */
enum front_read front_message_read(struct front_message *ret, struct error *error) OD_MUST;

/* Makes the message standard input, from its beginning. */
bool front_message_restore(struct front_message *message, struct error *error) OD_MUST;

#endif
