/* SPDX-License-Identifier: ISC
 *
 * What the ledger has about one address (lower case, not empty), for `export` and `forget`: messages with it as
 * envelope sender, envelope recipient (also before aliases), account, or recorded header address. */
#ifndef ONCEDROP_LEDGER_ADDRESS_H
#define ONCEDROP_LEDGER_ADDRESS_H

#include "ledger/ledger_query.h"

#define LEDGER_ADDRESS_MAX 500

/* Reads the next messages. *after: the last one examined; 0 at first; advanced. ret_ids: [LEDGER_ADDRESS_MAX]; may be
 * empty before *ret_ended. */
bool ledger_address_next(struct ledger *ledger, const char *address, int64_t *after, int64_t *ret_ids,
                         size_t *ret_count, bool *ret_ended, struct error *error) OD_MUST;

/* Reads a section of ledger_show, or "message" (step export_message; no row if it is gone), or "texts" (parts with
 * text). */
struct sql_rows *ledger_address_show(struct ledger *ledger, const char *section, int64_t message,
                                     struct error *error) OD_MUST;

/* Sets *ret: the message's bytes are recorded (ledger_raw). */
bool ledger_address_has_raw(struct ledger *ledger, int64_t message, bool *ret, struct error *error) OD_MUST;

/* Removes messages that purge may remove. Others keep the address: a later attempt needs recipients, accounts and
 * sender. */
struct ledger_forget {
    const char *address;
    bool dry_run;
    int64_t after; /* last one examined; 0 at first; advanced by each batch */
    bool ended;
    int64_t removed;    /* or would be; increased by each batch, like those below */
    int64_t busy;       /* old, but a delivery has it */
    int64_t unfinished; /* of any age */
    int64_t too_recent; /* finished, but Postfix may still have them */
    char old_at[32];    /* when the last of these is old; UTC, ISO 8601 */
};

/* Removes the next batch. A failure does not undo earlier ones. */
bool ledger_forget_batch(struct ledger *ledger, struct ledger_forget *forget, struct error *error) OD_MUST;

#endif
