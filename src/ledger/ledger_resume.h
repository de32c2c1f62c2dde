/* SPDX-License-Identifier: ISC
 *
 * What was recorded and never finished, and the bytes to finish it with (record.level = raw). Nothing here takes a lock:
 * whoever goes on with a message takes it then, and looks again. */
#ifndef ONCEDROP_LEDGER_RESUME_H
#define ONCEDROP_LEDGER_RESUME_H

#include "ledger/ledger.h"

/* One message with deliveries that Postfix would still come again with. */
struct ledger_unfinished {
    unsigned char digest[LEDGER_HASH_SIZE];
    char *message_id; /* as recorded; may be NULL */
    char *sender;
    char *queue_id;     /* may be NULL */
    char **recipients;  /* NULL-terminated */
    char **originals;   /* one for each recipient, "" when there is none */
    char *sent_account; /* where the Sent copy was recorded to belong; NULL: none was due */
    char *sent_mailbox;
};

/* Messages that can be finished: with an unfinished delivery, known to be whole, and with their bytes.
 *
 * after    the last message of the batch before, 0 at first
 * ret_ids  [limit], in ascending order
 *
 * False with the fault set on trouble. */
bool ledger_unfinished_ids(struct ledger *ledger, int64_t after, size_t limit, int64_t *ret_ids, size_t *ret_count,
                           struct fault *fault) OD_MUST;

/* How many messages have an unfinished delivery but cannot be finished here: their bytes are not recorded, or may be cut
 * short. False with the fault set on trouble. */
bool ledger_unfinished_others(struct ledger *ledger, int64_t *ret, struct fault *fault) OD_MUST;

/* What is to be known to go on with a message. *ret is new, or NULL when nothing of it is unfinished any more. False with
 * the fault set on trouble. */
bool ledger_unfinished_read(struct ledger *ledger, int64_t id, struct ledger_unfinished **ret,
                            struct fault *fault) OD_MUST;

void ledger_unfinished_free(struct ledger_unfinished **unfinished);

/* Gives the recorded bytes of a message piece by piece to `take`, which returns false (with its own fault) to end it.
 * False with the fault set on trouble. */
bool ledger_raw(struct ledger *ledger, int64_t id,
                bool (*take)(void *context, const void *bytes, size_t size, struct fault *fault), void *context,
                struct fault *fault) OD_MUST;

#endif
