/* SPDX-License-Identifier: ISC
 *
 * Takes from the process that decodes what a hole in gmime would be used for. It belongs to the user who delivers, so
 * it could read that user's files, with the password of the IMAP server, connect to servers, and end or trace other
 * processes. After this it can compute, read and write what is open, and end; it has no other system calls. */
#ifndef ONCEDROP_DECODE_CONFINE_H
#define ONCEDROP_DECODE_CONFINE_H

#include "message/message.h"

/* For good: opens what decoding needs, then installs a filter of system calls (prctl(2), PR_SET_SECCOMP). Other calls
 * fail with EPERM: killed, the process could not tell who has sent the message, and there would be no Sent copy. Only
 * calls of another architecture kill it.
 *
 * message  for decode_charset_keep
 *
 * 0, or the errno why this process is not confined: ENOMEM, or this kernel or what surrounds us does not allow it. */
int decode_confine(const struct message *message) OD_MUST;

#endif
