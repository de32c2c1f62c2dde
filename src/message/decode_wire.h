/* SPDX-License-Identifier: ISC
 *
 * What was decoded, on its way from the process that decodes to the one that delivers: a frame after each stage. The
 * reader believes nothing: it takes no more than decode.h allows, and only what the database will take. */
#ifndef ONCEDROP_DECODE_WIRE_H
#define ONCEDROP_DECODE_WIRE_H

#include <stdatomic.h>

#include "message/decode_internal.h"

/* All that can come of a message that keeps to the limits, and more. */
#define DECODE_WIRE_MAX ((size_t)64 << 20)

/* Where the writer writes: memory that the reader sees too. */
struct decode_wire {
    _Atomic size_t whole; /* bytes of frames that are complete; set after they are */
    unsigned char bytes[DECODE_WIRE_MAX];
};

struct decode_writer {
    struct decode_wire *wire;
    size_t used;
    size_t addresses; /* written so far */
    bool full;
};

/* A decode_step whose context is a struct decode_writer: writes the stage's frame. What has no room any more is left out,
 * and all that follows. */
void decode_wire_write(void *context, const struct decoded *decoded, enum decode_stage stage);

/* Adds what stands in the frames to *decoded, which is new, up to the first that is wrong. Returns whether all was right,
 * up to the frame of DECODE_ALL. */
bool decode_wire_read(const struct decode_wire *wire, struct decoded *decoded) OD_MUST;

#endif
