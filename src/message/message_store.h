/* SPDX-License-Identifier: ISC
 *
 * The bytes of a message: up to 1 MiB in memory; more in a temp file in TMPDIR (default /tmp), mapped at the end. */
#ifndef ONCEDROP_MESSAGE_STORE_H
#define ONCEDROP_MESSAGE_STORE_H

#include "base/base.h"

struct message_store *message_store_new(void) OD_MUST;

bool message_store_append(struct message_store *store, const unsigned char *bytes, size_t size,
                          struct error *error) OD_MUST;

/* Returns the bytes of a store that is not empty, valid until it is freed; NULL: they cannot be mapped. */
const unsigned char *message_store_finish(struct message_store *store, struct error *error) OD_MUST;

void message_store_free(struct message_store **store);

#endif
