/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <nettle/sha2.h>
#include <nettle/version.h>

struct sha256 {
    struct sha256_ctx context;
};

struct sha256 *sha256_new(void)
{
    struct sha256 *sha256 = base_alloc(sizeof(*sha256));
    sha256_init(&sha256->context);
    return sha256;
}

struct sha256 *sha256_copy(const struct sha256 *sha256)
{
    struct sha256 *copy = base_alloc(sizeof(*copy));
    *copy = *sha256;
    return copy;
}

void sha256_feed(struct sha256 *sha256, const void *bytes, size_t size)
{
    sha256_update(&sha256->context, size, bytes);
}

void sha256_end(struct sha256 *sha256, unsigned char ret[SHA256_SIZE])
{
#if NETTLE_VERSION_MAJOR >= 4
    sha256_digest(&sha256->context, ret);
#else
    sha256_digest(&sha256->context, SHA256_SIZE, ret);
#endif
}
