/* SPDX-License-Identifier: ISC
 *
 * What the ledger has about one address, for `export` and `forget`: the messages of which it is the envelope sender, an
 * envelope recipient, before or after aliases, an account, or an address in the header that is recorded. The address is in
 * lower case, and not empty. All return false with the fault set on trouble. */
#ifndef ONCEDROP_LEDGER_PERSON_H
#define ONCEDROP_LEDGER_PERSON_H

#include "ledger/ledger_query.h"

#define LEDGER_PERSON_MOST 500 /* messages that are looked at in one step */

/* The next messages, in the order in which they were recorded.
 *
 * *after      the last message that was looked at; 0 at first; advanced
 * ret_ids     [LEDGER_PERSON_MOST]; *ret_count may be 0 although there are more
 * *ret_ended  there are no more */
bool ledger_person_next(struct ledger *ledger, const char *address, int64_t *after, int64_t *ret_ids, size_t *ret_count,
                        bool *ret_ended, struct fault *fault) OD_MUST;

/* A section of what is known of one message (its id), as ledger_show has them, and besides:
 *
 *   message   one row: id, message_id, identity, digest, sender, from, subject, date, size, in_reply_to, references,
 *             received_at; none if the message is not recorded any more
 *   texts     the parts, with their text */
struct ledger_table *ledger_person_show(struct ledger *ledger, const char *section, int64_t message,
                                        struct fault *fault) OD_MUST;

/* Whether the bytes of the message are recorded; ledger_raw (ledger_resume.h) reads them. */
bool ledger_person_has_raw(struct ledger *ledger, int64_t message, bool *ret, struct fault *fault) OD_MUST;

/* Removes messages as purge does: those that are finished, and so old that Postfix cannot have them any more. The others stay as
 * they are, for what a later try needs is what names the person: recipients, accounts, and in the queue also the sender. */
struct ledger_forget {
    const char *address;
    bool dry_run;
    int64_t after;      /* the last message that was looked at; 0 at first; advanced by each batch */
    bool ended;         /* there are no more */
    int64_t removed;    /* or would be; this and what follows is increased by each batch */
    int64_t busy;       /* old, but just being delivered */
    int64_t unfinished; /* of any age */
    int64_t young;      /* finished, but Postfix may still have them */
    char old_at[32];    /* when the last of the young ones will be old; UTC, ISO 8601 */
};

/* The next batch. What earlier ones removed stays removed if this one fails. */
bool ledger_forget_batch(struct ledger *ledger, struct ledger_forget *forget, struct fault *fault) OD_MUST;

#endif
