/* SPDX-License-Identifier: ISC
 *
 * The decoded message on its way from the decoding process to the delivering one: one frame after each stage. The
 * reader trusts nothing: it accepts no more than decode.h allows, and only what the database will accept. */
#ifndef ONCEDROP_DECODE_WIRE_H
#define ONCEDROP_DECODE_WIRE_H

#include <stdatomic.h>

#include "decode/decode_internal.h"

/* More than any message within the limits needs. */
#define DECODE_WIRE_MAX ((size_t)64 << 20)

/* Where the writer writes: memory shared with the reader. */
struct decode_wire {
    _Atomic size_t whole;  /* bytes of complete frames; updated after a frame is complete */
    atomic_int unconfined; /* the errno why the writer could not be confined (decode_confine.c); 0 if it could */
    unsigned char bytes[DECODE_WIRE_MAX];
};

struct decode_writer {
    struct decode_wire *wire;
    size_t used;
    size_t addresses; /* written so far */
    bool full;
};

/* A decode_step whose context is a struct decode_writer: writes the frame of a stage. If a frame does not fit, it and
 * all later ones are left out. */
void decode_wire_write(void *context, const struct decoded *decoded, enum decode_stage stage);

/* Adds the contents of the frames to *decoded, which is new, up to the first error. Returns whether there was none, up
 * to the frame of DECODE_ALL. */
bool decode_wire_read(const struct decode_wire *wire, struct decoded *decoded) OD_MUST;

#endif
