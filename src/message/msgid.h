/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_MSGID_H
#define ONCEDROP_MSGID_H

#include "message/message.h"

/* Reads the Message-ID of a header into *message, whose id members are zero; id_bytes points into the header. The id is
 * between '<' and the last '>', without comments and blanks around it (a lenient reading of RFC 5322, 3.6.4). */
void msgid_read(const unsigned char *header, size_t size, struct message *message);

#endif
