/* SPDX-License-Identifier: ISC
 *
 * SHA-256 by nettle: five times as fast as GLib. */
#ifndef ONCEDROP_SHA256_H
#define ONCEDROP_SHA256_H

#include "base/base.h"

#define SHA256_SIZE 32

/* May be copied, and needs no freeing. */
struct sha256 {
    uint64_t state[16]; /* only nettle reads it */
};

void sha256_begin(struct sha256 *sha256);
void sha256_feed(struct sha256 *sha256, const void *bytes, size_t size);

/* Nothing can be fed afterwards. */
void sha256_end(struct sha256 *sha256, unsigned char ret[SHA256_SIZE]);

#endif
