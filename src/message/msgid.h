/* SPDX-License-Identifier: ISC
 *
 * Message-ID fields of a header. */
#ifndef ONCEDROP_MSGID_H
#define ONCEDROP_MSGID_H

#include "message/message.h"

struct msgid {
    char *id; /* of the first Message-ID field; NULL when missing, empty or damaged */
    size_t length;
    bool folded;
    size_t count; /* Message-ID fields */
};

/* Fills *ret, whose id is a new string. */
void msgid_of_header(const unsigned char *header, size_t size, struct msgid *ret);

#endif
