/* SPDX-License-Identifier: ISC
 *
 * Decodes plain messages, such as most programs send, without a child, which takes as long as the rest of a delivery.
 * Must agree with decode_message (tests/fuzz/fuzz_plain.c). */
#ifndef ONCEDROP_DECODE_PLAIN_H
#define ONCEDROP_DECODE_PLAIN_H

#include "decode/decoded.h"

/* Returns a new result, in linear time; NULL: not plain. Checks only what the level needs.
 *
 * Plain is at most 64 KiB of printable ASCII, tabs and CRLF, with only fields in the header. The subject has no encoded
 * words (RFC 2047). Addresses are local@domain, <...>, Words <...> or "Text" <...>, separated by commas (RFC 5322,
 * 3.4). The body is unencoded text/plain. */
struct decoded *decode_plain(const struct message *message, enum record_level level) OD_MUST;

#endif
