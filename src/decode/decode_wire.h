/* SPDX-License-Identifier: ISC
 *
 * Passes the decoded message from a child to its parent, in a frame per stage. The reader accepts only what decode.h
 * allows and the database accepts. */
#ifndef ONCEDROP_DECODE_WIRE_H
#define ONCEDROP_DECODE_WIRE_H

#include <stdatomic.h>

#include "decode/decode_internal.h"

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

#endif
