/* SPDX-License-Identifier: ISC
 *
 * For unit tests and fuzz targets: a message from bytes in memory. */
#ifndef ONCEDROP_MESSAGE_BYTES_H
#define ONCEDROP_MESSAGE_BYTES_H

#include "message/message.h"

/* As message_read. */
static inline enum message_result message_from_bytes(const void *bytes, size_t size, size_t size_limit,
                                                     struct message **ret, struct error *error)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(size_limit, NULL);

    if (!message_builder_feed(builder, bytes, size, error))
        return MESSAGE_ERROR;
    return message_builder_end(builder, ret, error);
}

#endif
