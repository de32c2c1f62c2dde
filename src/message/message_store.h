/* SPDX-License-Identifier: ISC
 *
 * Stores the bytes of a message: up to 1 MiB in memory; more in an unlinked temporary file that is mapped at the end,
 * so that a large message takes disk and page cache rather than process memory. */
#ifndef ONCEDROP_MESSAGE_STORE_H
#define ONCEDROP_MESSAGE_STORE_H

#include "base/base.h"

struct message_store *message_store_new(void) OD_MUST;

/* Appends bytes; false with the fault set (disk full, no temporary directory, ...). */
bool message_store_append(struct message_store *store, const unsigned char *bytes, size_t size,
                          struct fault *fault) OD_MUST;

/* Completes a store that has bytes. Returns them, readable until the store is freed; NULL with the fault set if they
 * cannot be mapped. */
const unsigned char *message_store_finish(struct message_store *store, struct fault *fault) OD_MUST;

void message_store_free(struct message_store **store);

#endif
