/* SPDX-License-Identifier: ISC
 *
 * A transaction and its message in one piece, for another worker (lmtp_relay.h). */
#ifndef ONCEDROP_LMTP_PARCEL_H
#define ONCEDROP_LMTP_PARCEL_H

#include "lmtp/lmtp_transaction.h"
#include "message/message.h"

/* started_ms: base_now_ms() when reading began. To be freed with g_bytes_unref. */
GBytes *lmtp_parcel_pack(const struct lmtp_transaction *transaction, const struct message *message,
                         int64_t started_ms) OD_MUST;

/* Unpacks it. config: as of whoever packed it. False: it is none, and nothing was touched; otherwise *ret is a transaction
 * without a stream, to be cleared, and *ret_message is new. */
bool lmtp_parcel_unpack(const struct config *config, const void *bytes, size_t size, struct lmtp_transaction *ret,
                        struct message **ret_message, int64_t *ret_started_ms) OD_MUST;

#endif
