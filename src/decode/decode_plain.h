/* SPDX-License-Identifier: ISC
 *
 * Most mail of programs is a short text in ASCII with simple addresses. It is read here by rules so narrow that no library is
 * needed: in the delivering process, without a child, which takes as long as all the rest of a delivery. Anything that
 * these rules do not cover is left to decode_message, with which they must agree (tests/fuzz/fuzz_plain.c). */
#ifndef ONCEDROP_DECODE_PLAIN_H
#define ONCEDROP_DECODE_PLAIN_H

#include "decode/decoded.h"

/* What decode_message would make of the message, a new result; NULL: it is not plain. Takes time in proportion to the
 * message, which is plain only up to 64 KiB. What is not needed for the level is not looked at.
 *
 * Plain is what has only printable ASCII, tabs and CRLF; only lines of the form "Name: value", or continued, in its header;
 * no word that is encoded (RFC 2047) in its subject; only addresses local@domain, <...>, Words <...> and "Text" <...>,
 * separated by commas (RFC 5322, 3.4, without comments, groups, routes and quoted local parts); and a body that is
 * text/plain as it stands. */
struct decoded *decode_plain(const struct message *message, enum record_level level) OD_MUST;

#endif
