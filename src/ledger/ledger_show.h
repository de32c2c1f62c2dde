/* SPDX-License-Identifier: ISC
 *
 * The queries of `show`. Times are UTC, in ISO 8601. */
#ifndef ONCEDROP_LEDGER_SHOW_H
#define ONCEDROP_LEDGER_SHOW_H

#include "ledger/ledger_query.h"

/* Finds messages by identity, digest, or any queue id they were tried under, each of which may be NULL; oldest first.
 * NULL with the fault set on trouble. Columns: id, message_id, digest, lock_key, sender, from, subject, date, size,
 * in_reply_to, references, received_at. */
struct ledger_table *ledger_find_messages(struct ledger *ledger, const unsigned char *identity,
                                          const unsigned char *digest, const char *queue_id,
                                          struct fault *fault) OD_MUST;
enum { FOUND_ID, FOUND_MESSAGE_ID, FOUND_DIGEST, FOUND_LOCK_KEY }; /* the first columns */

/* Whether a message with this digest is recorded; for replay, so it uses only what a delivery may read. False with the
 * fault set on trouble. */
bool ledger_knows(struct ledger *ledger, const unsigned char *digest, bool *ret, struct fault *fault) OD_MUST;

/* Message-IDs that may be near an unknown one: some with a common beginning, and the newest. Column message_id. */
struct ledger_table *ledger_near(struct ledger *ledger, const char *message_id, struct fault *fault) OD_MUST;

/* When the oldest message on record was received: what was before has been purged. Column received_at; no row: there is
 * none. */
struct ledger_table *ledger_oldest(struct ledger *ledger, struct fault *fault) OD_MUST;

/* A section of what is known of one message (its id). NULL with the fault set on trouble. Their names and columns:
 *
 *   addresses   role, position, group, name, address
 *   deliveries  recipient, original_recipient, account, mailbox, outcome, reason, tries, queue_id, host, first_at,
 *               last_at, finished_at, whole
 *   tries       at, outcome, recipient, queue_id, reason, queued, read, lock, database, imap (seconds: in Postfix's queue
 *               before; spent on each), host, pid, ended_at; oldest first
 *   spans       of tries with record.trace: trace_id, span_id, start_time_unix_nano, end_time_unix_nano, message_id,
 *               queue_id, host, pid, recipient, outcome, reason, account, mailbox, uidvalidity, uid, read_ms, lock_ms,
 *               database_ms, imap_ms
 *   copies      account, mailbox, role, state, doubt, uid, uidvalidity, attempt, repeated, first_at, attempt_at, stored_at,
 *               host, pid, claimed_by, error
 *   parts       path, type, charset, disposition, filename, size, sha256
 *   why         text: what became of it and why, a sentence each: the tries in order of time, then what holds now; none
 *               for what was stored at the first try at once */
struct ledger_table *ledger_show(struct ledger *ledger, const char *section, const char *message,
                                 struct fault *fault) OD_MUST;

#endif
