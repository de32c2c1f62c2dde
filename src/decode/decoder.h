/* SPDX-License-Identifier: ISC
 *
 * The decoders, and what they pass on. Without gmime. */
#ifndef ONCEDROP_DECODER_H
#define ONCEDROP_DECODER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "decode/decode_internal.h"
#include "decode/decoded.h"

/* decode_plain.c
 * Decodes plain messages, such as most programs send, without a child, which takes as long as the rest of a delivery.
 * Must agree with decode_message (tests/fuzz/fuzz_plain.c). */

/* Returns a new result, in linear time; NULL: not plain. Checks only what the level needs.
 *
 * Plain is at most 64 KiB of printable ASCII, tabs and CRLF, with only fields in the header. The subject has no encoded
 * words (RFC 2047), addresses no A-labels (RFC 5890). Names are words or quoted text. The body is unencoded
 * text/plain. */
struct decoded *decode_plain(const struct message *message, enum record_level level) OD_MUST;

/* decode_wire.c
 * Passes the decoded message from a child to its parent, in a frame per stage. The reader accepts only what decode.h
 * allows and the database accepts. */

/* more than any message needs */
#define DECODE_WIRE_MAX ((size_t)64 << 20)

struct decode_wire {
    _Atomic size_t complete;    /* bytes of complete frames */
    atomic_int without_sandbox; /* errno why there is no sandbox, or 0 */
    unsigned char bytes[DECODE_WIRE_MAX];
};

struct decode_writer {
    struct decode_wire *wire;
    size_t used;
    size_t addresses; /* so far */
    bool full;
};

/* Writes a stage's frame, unless this or an earlier one does not fit. A decode_step; context: struct decode_writer. */
void decode_wire_write(void *context, const struct decoded *decoded, enum decode_stage stage);

/* Adds the frames' contents to *decoded, which is new, up to the first error. Returns true if they are complete. */
bool decode_wire_read(const struct decode_wire *wire, struct decoded *decoded) OD_MUST;

/* decoder.c
 * Runs a child that decodes. decoding.h decides when, and what a failure means. */

#define DECODER_KEPT_SIZE ((size_t)1 << 20) /* largest message for a running child */

/* The result, and the messages after the first. */
struct decoder_shared {
    struct decode_wire wire;
    unsigned char message[DECODER_KEPT_SIZE];
};

struct decoder {
    pid_t child; /* 0: ended */
    int socket;
    struct decoder_shared *shared;
    bool keeps;        /* waits for more messages */
    unsigned messages; /* so far; for the caller */
    size_t size;       /* of the last message */
};

struct decoder_request {
    size_t size, header_size;
    enum record_level level;
    int64_t processor_s; /* CPU time limit */
};

typedef void (*decoder_work)(struct decode_writer *writer, const struct message *message, enum record_level level);

/* Forks a child, which decodes this message, and may use `memory` bytes more than this process. Returns NULL and sets
 * the error on failure. */
struct decoder *decoder_new(decoder_work work, const struct message *message, struct decoder_request request,
                            size_t memory, bool keeps, struct error *error) OD_MUST;

/* Sends a message, at most DECODER_KEPT_SIZE, to a waiting child; false: it is gone. */
bool decoder_ask(struct decoder *decoder, const struct message *message, struct decoder_request request) OD_MUST;

enum decoder_state {
    DECODER_DONE,  /* it has replied */
    DECODER_ENDED, /* it has ended, or is about to */
    DECODER_TOO_LONG,
    DECODER_UNKNOWN, /* the wait failed */
};

#define DECODER_NOT_SET_UP 75 /* exit status of a child */

/* Waits for a reply or the child's end, until until_ms by base_now_ms(). */
enum decoder_state decoder_wait(const struct decoder *decoder, int64_t until_ms) OD_MUST;

/* Kills the child. Returns its wait status (waitpid(2)), which is its own if it had ended. */
int decoder_end(struct decoder *decoder);

void decoder_free(struct decoder **decoder);

#endif
