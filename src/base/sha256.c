/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <nettle/sha2.h>
#include <nettle/version.h>

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(struct sha256), "nettle's context is larger");

void sha256_begin(struct sha256 *sha256)
{
    sha256_init((void *)sha256->state);
}

void sha256_feed(struct sha256 *sha256, const void *bytes, size_t size)
{
    sha256_update((void *)sha256->state, size, bytes);
}

void sha256_end(struct sha256 *sha256, unsigned char ret[SHA256_SIZE])
{
#if NETTLE_VERSION_MAJOR >= 4
    sha256_digest((void *)sha256->state, ret);
#else
    sha256_digest((void *)sha256->state, SHA256_SIZE, ret);
#endif
}
