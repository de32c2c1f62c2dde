/* SPDX-License-Identifier: ISC
 *
 * Messages in the record that were never finished, or whose copies may have to be restored, and their bytes (record.level =
 * raw). Nothing here takes a lock: a delivery that continues a message takes the lock and looks again. All return false with the fault set on
 * trouble. */
#ifndef ONCEDROP_LEDGER_RESUME_H
#define ONCEDROP_LEDGER_RESUME_H

#include "ledger/ledger.h"

/* A message, and some of its recipients. */
struct ledger_recorded {
    unsigned char digest[LEDGER_HASH_SIZE];
    char *message_id; /* as recorded; may be NULL */
    char *sender;
    char *queue_id;     /* may be NULL */
    char **recipients;  /* NULL-terminated */
    char **originals;   /* one for each recipient, "" if there is none */
    char *sent_account; /* where the Sent copy was recorded to belong; NULL: none was due */
    char *sent_mailbox;
    bool has_bytes; /* its bytes are recorded */
};

/* Messages that can be finished: they have an unfinished delivery, are known to be complete, and their bytes are
 * recorded.
 *
 * after    the last message of the previous batch, 0 at first
 * ret_ids  [limit], in ascending order */
bool ledger_unfinished_ids(struct ledger *ledger, int64_t after, size_t limit, int64_t *ret_ids, size_t *ret_count,
                           struct fault *fault) OD_MUST;

/* How many messages have an unfinished delivery but cannot be finished here, since their bytes are not recorded or may
 * be incomplete. */
bool ledger_unfinished_others(struct ledger *ledger, int64_t *ret, struct fault *fault) OD_MUST;

/* Messages of which a copy was stored, or was to be stored again since it was missing.
 *
 * account  only copies of this account; NULL: of any
 * since    only copies of which that was decided since this time, @ and seconds since 1970; NULL: any
 * the rest as above */
bool ledger_stored_ids(struct ledger *ledger, const char *account, const char *since, int64_t after, size_t limit,
                       int64_t *ret_ids, size_t *ret_count, struct fault *fault) OD_MUST;

enum ledger_part {
    LEDGER_UNFINISHED, /* recipients that Postfix would still retry */
    LEDGER_STORED,     /* those whose copy was stored, or was to be stored again; the Sent copy likewise */
};

/* Reads what is needed to continue a message. *ret is new, or NULL if there is no such recipient any more. */
bool ledger_recorded_read(struct ledger *ledger, int64_t id, enum ledger_part part, struct ledger_recorded **ret,
                          struct fault *fault) OD_MUST;

void ledger_recorded_free(struct ledger_recorded **recorded);

/* Passes the recorded bytes of a message to `take`, piece by piece, until that returns false (with its own fault). */
bool ledger_raw(struct ledger *ledger, int64_t id,
                bool (*take)(void *context, const void *bytes, size_t size, struct fault *fault), void *context,
                struct fault *fault) OD_MUST;

#endif
