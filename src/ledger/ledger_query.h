/* SPDX-License-Identifier: ISC
 *
 * Questions of people to the ledger: their answers are tables of text. */
#ifndef ONCEDROP_LEDGER_QUERY_H
#define ONCEDROP_LEDGER_QUERY_H

#include "ledger/ledger.h"

struct ledger_table {
    size_t columns, rows;
    char **names;   /* [columns] */
    char **cells;   /* [rows * columns], row after row; NULL is SQL NULL */
};

void ledger_table_free(struct ledger_table **table);

/* The cell, "" for NULL. */
const char *ledger_cell(const struct ledger_table *table, size_t row, size_t column) OD_MUST;

/* Messages by identity, digest, or queue id; columns id, message_id, digest, lock_key, sender, from, subject, date,
 * size, received_at. Newest last. identity and digest may be NULL. NULL with the fault set on trouble. */
struct ledger_table *ledger_find_messages(struct ledger *ledger, const unsigned char *identity,
                                          const unsigned char *digest, const char *queue_id,
                                          struct fault *fault) OD_MUST;

/* Of one message: deliveries (recipient, queue_id, host, outcome, tries, last_at, reason), copies (account, mailbox,
 * role, state, doubt, attempt, attempt_at, uid, error), and parts (path, type, charset, filename, size). */
struct ledger_table *ledger_deliveries(struct ledger *ledger, const char *message, struct fault *fault) OD_MUST;
struct ledger_table *ledger_copies(struct ledger *ledger, const char *message, struct fault *fault) OD_MUST;
struct ledger_table *ledger_parts(struct ledger *ledger, const char *message, struct fault *fault) OD_MUST;

/* Claims under way: key, message_id, account, mailbox, host, pid, age, lock (held or not); locks in pg_locks whose
 * message is not recorded yet come with what pg_stat_activity tells. */
struct ledger_table *ledger_locks(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Whether the lock excludes: takes it on this session and tries it on another; *ret false: it does not exclude, or is
 * not granted when it is free. The fault is set on trouble, and says what is wrong when *ret is false. */
bool ledger_check_lock(struct ledger *ledger, struct ledger *other, bool *ret, struct fault *fault) OD_MUST;

/* Whether this role may write what a delivery writes (nothing is written); the fault says what it may not. */
bool ledger_check_rights(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Version of the server, "15.4 ...", a new string, and how many connections it takes; NULL with the fault set. */
char *ledger_server_version(struct ledger *ledger, int64_t *ret_max_connections, struct fault *fault) OD_MUST;

#endif
