/* SPDX-License-Identifier: ISC
 *
 * Decodes in a child, so that the message is delivered even if decoding aborts, crashes, hangs or takes too much
 * memory. What was decoded before is recorded. The child has limits (decoder.c) and a sandbox (decode_sandbox.c), and
 * dies with its parent. Its output is not trusted (decode_wire.c). Plain messages need no child (decode_plain.c).
 *
 * LMTP and replay reuse a child while it works well and messages are small: a fork takes half of a delivery's time. If
 * no child can be started, mail is deferred: the failure is temporary. */
#ifndef ONCEDROP_DECODING_H
#define ONCEDROP_DECODING_H

#include "decode/decode.h"

struct decoding;

/* Starts to decode, and returns at once. The message must outlive the decoding. Returns NULL and sets the error if no
 * child can be started. */
struct decoding *decoding_start(const struct message *message, enum record_level level, struct error *error) OD_MUST;

/* Waits for the result, owned by the decoding. Limits: 10 s of CPU time plus 1 s per 16 MiB; twice that in elapsed
 * time; half of the time until the deadline. */
const struct decoded *decoding_result(struct decoding *decoding);

/* After decoding_result: returns why it is incomplete, for the log, or NULL. */
const char *decoding_error(const struct decoding *decoding) OD_MUST;

/* After decoding_result: returns true if the child failed before it had decoded From, and not because of the message:
 * killed from outside, setup or wait failed. Then defer all recipients (OUTCOME_TEMPFAIL), and record nothing: without its
 * sender the message would never get a Sent copy. */
bool decoding_cut_off(const struct decoding *decoding) OD_MUST;

/* After decoding_result: returns 0, or the errno why there was no sandbox. */
int decoding_without_sandbox(const struct decoding *decoding) OD_MUST;

void decoding_free(struct decoding **decoding);

/* Ends the waiting child, which would otherwise end with this process. */
void decoding_end(void);

#endif
