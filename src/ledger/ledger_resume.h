/* SPDX-License-Identifier: ISC
 *
 * Recorded messages to finish or restore, and their bytes (record.level = raw). Takes no lock: the delivery that
 * continues a message does. */
#ifndef ONCEDROP_LEDGER_RESUME_H
#define ONCEDROP_LEDGER_RESUME_H

#include "ledger/ledger.h"

struct ledger_recorded {
    unsigned char digest[LEDGER_HASH_SIZE];
    char *message_id; /* may be NULL */
    char *sender;
    char *queue_id;     /* may be NULL */
    char **recipients;  /* NULL-terminated */
    char **originals;   /* "": none */
    char *sent_account; /* where the Sent copy belongs; NULL: none was due */
    char *sent_mailbox;
    bool has_bytes;
};

/* Finds complete messages with recorded bytes and an unfinished delivery. after: last one of the previous batch, or 0.
 * ret_ids: [limit], ascending. */
bool ledger_unfinished_ids(struct ledger *ledger, int64_t after, size_t limit, int64_t *ret_ids, size_t *ret_count,
                           struct error *error) OD_MUST;

/* Counts the other messages with an unfinished delivery: their bytes are not recorded, or maybe incomplete. */
bool ledger_unfinished_others(struct ledger *ledger, int64_t *ret, struct error *error) OD_MUST;

/* Finds messages with a copy that was stored, or missing and to be stored again: for this account, decided since this
 * time (@ and seconds since 1970); NULL: any. Otherwise as above. */
bool ledger_stored_ids(struct ledger *ledger, const char *account, const char *since, int64_t after, size_t limit,
                       int64_t *ret_ids, size_t *ret_count, struct error *error) OD_MUST;

enum ledger_part {
    LEDGER_UNFINISHED, /* that Postfix would still retry */
    LEDGER_STORED,     /* whose copy was stored, or was to be again; and such a Sent copy */
};

/* Reads what is needed to continue. *ret: new; NULL if no such recipient is left. */
bool ledger_recorded_read(struct ledger *ledger, int64_t id, enum ledger_part part, struct ledger_recorded **ret,
                          struct error *error) OD_MUST;

void ledger_recorded_free(struct ledger_recorded **recorded);

/* Passes the recorded bytes to `take` in pieces, until it returns false (with its own error). */
bool ledger_raw(struct ledger *ledger, int64_t id,
                bool (*take)(void *context, const void *bytes, size_t size, struct error *error), void *context,
                struct error *error) OD_MUST;

#endif
