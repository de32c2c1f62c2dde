/* SPDX-License-Identifier: ISC
 *
 * Decodes in a separate process, so that a message that cannot be decoded can still be delivered: if its decoder
 * aborts, crashes, hangs or takes too much memory, what was decoded before is recorded. The process is a forked child
 * with limits (processor, memory, no files, no core dump, no descriptor but the one to us; decode_confine.c) and
 * default signal dispositions; it dies with its parent. None of its output is trusted (decode_wire.h).
 *
 * Where there are many messages (LMTP, replay), a child is reused as long as it works well and the messages are small:
 * forking for each would take half of the time of a delivery. After anything unusual it is replaced.
 *
 * A plain message needs no child (decode_plain.h).
 *
 * If no child can be started, the message is not to blame. That passes, so the mail is deferred rather than recorded
 * for ever without what could have been decoded. */
#ifndef ONCEDROP_DECODING_H
#define ONCEDROP_DECODING_H

#include "decode/decode.h"

struct decoding;

/* Begins to decode as decode_message would, while the caller goes on with other work. The message must stay valid until
 * decoding_free. NULL with the fault set: there is no process or no memory for it. */
struct decoding *decoding_start(const struct message *message, enum record_level level, struct fault *fault) OD_MUST;

/* Returns what was decoded; the first call waits for it. Limits: 10 s of processor time plus 1 s for each 16 MiB of the
 * message; twice that in elapsed time; and half of the time left until the deadline. Owned by the decoding. */
const struct decoded *decoding_result(struct decoding *decoding);

/* Why the result is incomplete, as text for the log; NULL if it is complete, and before decoding_result. */
const char *decoding_fault(const struct decoding *decoding) OD_MUST;

/* After decoding_result: whether the child was killed by somebody else, could not set itself up, or could not be waited
 * for, before it had decoded the From field. The message is not to blame, and must not be recorded yet: without its
 * sender it would never get a Sent copy. */
bool decoding_cut_off(const struct decoding *decoding) OD_MUST;

/* After decoding_result: 0, or the errno why the child could not be confined (decode_confine.c); for the log. */
int decoding_unconfined(const struct decoding *decoding) OD_MUST;

/* Ends the child if necessary, and frees the result. */
void decoding_free(struct decoding **decoding);

/* Ends the waiting child, if there is one; it would otherwise end with this process. */
void decoding_end(void);

#endif
