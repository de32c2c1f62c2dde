/* SPDX-License-Identifier: ISC
 *
 * Decoding in a process of its own, so that no message is undeliverable because it cannot be decoded: whether that
 * aborts, crashes, hangs or eats, what was decoded before is recorded, and the message delivered. The process is a forked
 * child with limits (processor, memory, no file, no core, no descriptor but that to us), with the signals' default
 * dispositions; it dies with its parent. Nothing that it answers is believed (decode_wire.h).
 *
 * Where there are many messages (LMTP, replay) a child goes on to the next while it does well and all is small: a fork
 * for each would be half of what a message costs. After anything odd it is replaced.
 *
 * That no child is to be had is no matter of the message, but our own trouble: it passes, so the mail is tried again
 * later, instead of being recorded for ever without what could have been read. */
#ifndef ONCEDROP_DECODING_H
#define ONCEDROP_DECODING_H

#include "message/decode.h"

struct decoding;

/* Begins to decode as decode_message would; the message must stay until decoding_free. What is done meanwhile costs no
 * time. NULL with the fault set: no process or no memory for it. */
struct decoding *decoding_start(const struct message *message, enum record_level level, struct fault *fault) OD_MUST;

/* What was decoded. Waits for the end of it, the first time; 10 s of processor and one more for each 16 MiB of the message
 * are the limit, twice that by the clock, and half of what is left until the deadline. It stays the decoding's. */
const struct decoded *decoding_result(struct decoding *decoding);

/* Why the result is not whole: a text for the log; NULL when it is, and before decoding_result. */
const char *decoding_fault(const struct decoding *decoding) OD_MUST;

/* After decoding_result: whether the child was killed by somebody else, or could not set itself up, or be waited for, before
 * it had come to the From field. That is no matter of the message either: recorded without its sender it would have no
 * Sent copy for ever. */
bool decoding_cut_off(const struct decoding *decoding) OD_MUST;

/* Ends the child, if need be, and frees the result. */
void decoding_free(struct decoding **decoding);

/* Ends the child that waits for another message, if there is one; it would end with this process. */
void decoding_end(void);

/* For tests, which put something else in the decoder's place. */
struct decoding_limits {
    int64_t processor_s;
    int64_t clock_ms;
    size_t memory; /* bytes more than the parent has */
};

struct decode_writer;

struct decoding *decoding_start_work(void (*work)(struct decode_writer *writer, const struct message *message,
                                                  enum record_level level),
                                     const struct decoding_limits *limits, const struct message *message,
                                     enum record_level level, struct fault *fault) OD_MUST;

#endif
