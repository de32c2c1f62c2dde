/* SPDX-License-Identifier: ISC
 *
 * The Message-ID of a header. */
#ifndef ONCEDROP_MSGID_H
#define ONCEDROP_MSGID_H

#include "message/message.h"

/* Reads a header's Message-ID fields into *message, whose members about the id are zero: id_bytes then points into the
 * header, and message_id is a new string. Surrounding comments and blanks are not part of the id, which is what is
 * between '<' and the last '>' (a lenient reading of RFC 5322, 3.6.4). */
void msgid_read(const unsigned char *header, size_t size, struct message *message);

#endif
