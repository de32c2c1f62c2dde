/* SPDX-License-Identifier: ISC
 *
 * Message-ID fields of a header. */
#ifndef ONCEDROP_MSGID_H
#define ONCEDROP_MSGID_H

#include <glib.h>

#include "message/message.h"

struct msgid {
    const char *bytes; /* of the first Message-ID field, in the header; NULL when missing, empty or damaged */
    size_t size;
    char *id; /* these bytes unfolded; of more than MESSAGE_ID_MOST only the first */
    size_t length;
    bool folded;
    size_t count; /* Message-ID fields */
};

/* Fills *ret, whose id is a new string. */
void msgid_of_header(const unsigned char *header, size_t size, struct msgid *ret);

/* Adds all bytes of an id as it stands in a header, unfolded. */
void msgid_hash(GChecksum *sha256, const char *bytes, size_t size);

#endif
