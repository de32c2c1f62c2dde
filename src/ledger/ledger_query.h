/* SPDX-License-Identifier: ISC
 *
 * What commands ask the ledger, and change in it. */
#ifndef ONCEDROP_LEDGER_QUERY_H
#define ONCEDROP_LEDGER_QUERY_H

#include "ledger/ledger.h"
#include "sql/sql.h"

/* ledger_query.c
 * Queries for commands: the results are tables of text. */

/* Runs a step that only reads, outside of any transaction. */
struct sql_rows *ledger_query(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                              struct error *error) OD_MUST;

/* Returns a table of text without rows, for sql_rows_add_text. */
struct sql_rows *ledger_table_new(const char *const *names, size_t columns) OD_MUST;

/* Returns a new string, "PostgreSQL 15.4 ...". */
char *ledger_server_version(struct ledger *ledger, struct error *error) OD_MUST;

/* Of a ledger that is a file (config_is_file): writes a copy to a new file, synced, while deliveries go on. Fails if
 * the file exists; leaves no partial file. */
bool ledger_backup(const struct config *config, const char *file, struct error *error) OD_MUST;

/* Also of a file: returns a row of text for each defect. */
struct sql_rows *ledger_damage(struct ledger *ledger, struct error *error) OD_MUST;

/* ledger_address.c
 * What the ledger has about one address (lower case, not empty), for `export` and `forget`: messages with it as
 * envelope sender, envelope recipient (also before aliases), account, or recorded header address. */

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

/* ledger_counter.c
 * Counters that never decrease: computed from the recorded attempts and from table counter_bucket, to which older
 * attempts are added before purge deletes them. An attempt counts once it cannot change. */

/* Returns counters, as cmd/stats.c describes them: name, label, le, value, also those at 0; by name, then
 * label, with le ascending and 0 last. phase and delay count attempts that took more than the previous le, and at most
 * le milliseconds; 0: any longer. phase_ms and delay_ms are sums. */
struct sql_rows *ledger_counters(struct ledger *ledger, struct error *error) OD_MUST;

/* Adds up what is older than an hour: attempts, which purge may then delete; messages and copies, for ledger_totals. A
 * failure changes nothing. */
bool ledger_counter_update(struct ledger *ledger, struct error *error) OD_MUST;

/* Sets *ret: so much is to be added up that queries are noticeably slower. */
bool ledger_counter_is_due(struct ledger *ledger, bool *ret, struct error *error) OD_MUST;

/* ledger_purge.c
 * Old records, in batches: expires unfinished messages, deletes finished ones after adding up their counts
 * (ledger_counter.c).
 *
 * The ledger does not learn that Postfix bounced a message or an administrator removed it. So it expires by age or on
 * request: outcomes and states become "expired", doubt is kept, a later delivery is as usual. A batch that fails
 * changes nothing. */

/* Selects unfinished messages whose unfinished recipients and copies were not tried recently. */
struct ledger_expire {
    int64_t older_than_ms; /* since the last attempt; a copy in its hold-off is skipped */
    int64_t after, upto;   /* message ids: above `after` (advanced by each batch), up to `upto` */
    bool ended;
};

/* Lists them, oldest first (step preview_expired). */
struct sql_rows *ledger_expire_preview(struct ledger *ledger, const struct ledger_expire *expire,
                                       struct error *error) OD_MUST;

/* Sets *ret: something of the message is unfinished. */
bool ledger_expire_is_open(struct ledger *ledger, int64_t message, bool *ret, struct error *error) OD_MUST;

/* Expires the next batch, except messages that a delivery has. Returns those expired, as above. */
struct sql_rows *ledger_expire_batch(struct ledger *ledger, struct ledger_expire *expire, struct error *error) OD_MUST;

#define LEDGER_PURGE_MIN_AGE_MS (7 * 24 * INT64_C(3600000)) /* Postfix retries for 5 days */

struct ledger_purge {
    int64_t older_than_ms; /* at least LEDGER_PURGE_MIN_AGE_MS */
    int64_t after;         /* last one examined; 0 at first; advanced by each batch */
    int64_t deleted;       /* increased by each batch */
    bool ended;
};

/* Counts the messages to delete once record.expire_after is applied. */
bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct error *error) OD_MUST;

/* Deletes the next batch of messages that are finished, arrived and changed long enough ago, and that no delivery
 * has. */
bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct error *error) OD_MUST;

/* ledger_show.c
 * Queries of `list`, `stats`, `show` and `locks`. The lines "-- columns:" in sql/steps name the columns. Times are UTC,
 * ISO 8601. */

struct ledger_filter {
    const char *state;     /* pending, ..., "expired", unfinished (the first two); here and below, NULL: any */
    const char *since;     /* milliseconds before now, or @ and seconds since 1970 */
    const char *until;     /* same form */
    const char *recipient; /* envelope recipient or account, lower case */
    const char *sender;    /* envelope sender ("": bounces), or From */
    const char *mailbox;
    const char *subject;    /* a part, in any case; valid UTF-8 */
    const char *message_id; /* like subject */
    const char *queue_id;   /* of any attempt */
    const char *delay;      /* minimum milliseconds until it was stored, or so far */
    int64_t limit;
};

/* Lists copies, newest first; delay in seconds. */
struct sql_rows *ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct error *error) OD_MUST;

struct sql_rows *ledger_totals(struct ledger *ledger, struct error *error) OD_MUST;

/* Returns a row for each recent hour in which a recipient's mailbox got a copy. */
struct sql_rows *ledger_hours(struct ledger *ledger, int64_t hours, struct error *error) OD_MUST;

/* Finds messages by identity, digest, or any attempt's queue id, each or NULL; oldest first. */
struct sql_rows *ledger_find_messages(struct ledger *ledger, const unsigned char *identity, const unsigned char *digest,
                                      const char *queue_id, struct error *error) OD_MUST;

/* Sets *ret: a message with this digest is recorded. Uses only what a delivery may read. */
bool ledger_knows(struct ledger *ledger, const unsigned char *digest, bool *ret, struct error *error) OD_MUST;

/* Returns when the first message that is still recorded was received. */
struct sql_rows *ledger_oldest(struct ledger *ledger, struct error *error) OD_MUST;

/* Returns a section about a message (its id): "addresses", "deliveries", "attempts" (oldest first; times in seconds),
 * "spans" (of attempts with record.trace), "copies", "parts"; or "why", sentences (ledger_explain.c). */
struct sql_rows *ledger_show(struct ledger *ledger, const char *section, const char *message,
                             struct error *error) OD_MUST;

/* Lists claims in progress and held locks with the sessions that wait for them, oldest first, by key. Includes a lock
 * without a claim if a delivery of ours holds it or waits for it, or its key is of a recorded message or looks like
 * ours. Columns: oncedrop-locks(1). */
struct sql_rows *ledger_locks(struct ledger *ledger, struct error *error) OD_MUST;

/* Returns the hint for hidden columns: a new string. */
char *ledger_locks_hint(const struct ledger *ledger) OD_MUST;

/* ledger_resume.c
 * Recorded messages to finish or restore, and their bytes (record.level = raw). Takes no lock: the delivery that
 * continues a message does. */

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

/* ledger_feed.c
 * Feeds: rows that wait for an application. ledger_settle() adds one for each copy that a feed takes. */

#define LEDGER_FEED_LEASE_MS 60000 /* for so long a row that was taken is not taken again */

struct ledger_feed_row {
    int64_t id;    /* 0: none */
    int64_t owner; /* random, new for each try */
};

/* Takes the next row that is due; counts as a try. */
bool ledger_feed_take(struct ledger *ledger, const char *feed, struct ledger_feed_row *ret,
                      struct error *error) OD_MUST;

/* After nothing was due: waits until that may have changed, as sql_wait() does. */
void ledger_feed_wait(struct ledger *ledger, int fd);

/* Keeps it for another LEDGER_FEED_LEASE_MS. *ret_ours: false if it has been taken by another since. */
bool ledger_feed_keep(struct ledger *ledger, const struct ledger_feed_row *row, bool *ret_ours,
                      struct error *error) OD_MUST;

/* Takes it out of the feed for good. *ret_ours as above; then nothing is changed. */
bool ledger_feed_finish(struct ledger *ledger, const struct ledger_feed_row *row, bool *ret_ours,
                        struct error *error) OD_MUST;

/* Leaves it for wait_ms later or, if it is dead, until ledger_feed_retry(). */
bool ledger_feed_fail(struct ledger *ledger, const struct ledger_feed_row *row, int64_t wait_ms, bool dead,
                      const char *why, struct error *error) OD_MUST;

/* Step read_row: what a row is about; no row if it is gone. */
struct sql_rows *ledger_feed_read(struct ledger *ledger, int64_t id, struct error *error) OD_MUST;

/* Step list_feeds, and list_rows: at most `max` of a feed. */
struct sql_rows *ledger_feed_list(struct ledger *ledger, struct error *error) OD_MUST;
struct sql_rows *ledger_feed_rows(struct ledger *ledger, const char *feed, int64_t max, struct error *error) OD_MUST;

/* Dead rows of the feed, or one (id; 0: all), are tried again. */
bool ledger_feed_retry(struct ledger *ledger, const char *feed, int64_t id, int64_t *ret_count,
                       struct error *error) OD_MUST;

/* Takes all rows out of the feed, or one, unread. */
bool ledger_feed_drop(struct ledger *ledger, const char *feed, int64_t id, int64_t *ret_count,
                      struct error *error) OD_MUST;

/* Adds the copies stored since then (@ and seconds since 1970) that the feed takes and never got; again: or got, and does
 * not have now. feed: its configuration. A failure does not undo earlier additions. */
bool ledger_feed_fill(struct ledger *ledger, const struct config *feed, const char *since, bool again, bool dry_run,
                      int64_t *ret_count, struct error *error) OD_MUST;

/* ledger_schema.c
 * Installs and upgrades the schema by version. */

int ledger_schema_needed(const struct ledger *ledger) OD_MUST;

/* Creates what a session needs to begin, if it is missing: the file of a ledger that is one. */
bool ledger_schema_create(const struct config *config, struct error *error) OD_MUST;

/* Reads the version in the database; 0: none. */
bool ledger_schema_version(struct ledger *ledger, int *ret, struct error *error) OD_MUST;

/* Returns true if the database stores text as UTF-8. With another encoding only the first text that is not ASCII would
 * fail. */
bool ledger_schema_fits(struct ledger *ledger, struct error *error) OD_MUST;

/* Applies all newer versions, one installer at a time: in one transaction (MariaDB: DDL commits; files can be repeated).
 * Retries for a minute while others hold locks.
 * Installs a new schema only in a UTF-8 database. *ret_from: the version before. */
bool ledger_schema_upgrade(struct ledger *ledger, int *ret_from, struct error *error) OD_MUST;

/* Records lock.method as the one of all hosts; a new schema has the installer's. *ret: the previous one, a new
 * string. */
bool ledger_schema_agree(struct ledger *ledger, char **ret, struct error *error) OD_MUST;

/* Returns the SQL of a new schema, one transaction: a new string (free(3)). */
char *ledger_schema_script(const struct config *config, struct error *error) OD_MUST;

/* Classify an error: the database does not know the process's user, or the user lacks a right. */
bool ledger_is_no_user(const struct config *config, const struct error *error) OD_MUST;
bool ledger_is_refused(const struct config *config, const struct error *error) OD_MUST;

/* ledger_transfer.c
 * Copies a ledger into another of any engine: all rows with their ids. The target must be empty, or hold the beginning
 * of the same rows. */

#define LEDGER_TRANSFER_TABLES 11

struct ledger_transferred {
    const char *table;
    int64_t rows, added; /* in the source; now added */
};

/* Begins to read the source in one snapshot. Unless `running`, fails if a delivery is under way, and blocks other
 * writers until it is closed. */
bool ledger_transfer_begin(struct ledger *source, bool running, struct error *error) OD_MUST;

/* Copies one table, by number, in the order of their references. A failure keeps the rows added. */
bool ledger_transfer_table(struct ledger *source, struct ledger *target, size_t table, struct ledger_transferred *ret,
                           struct error *error) OD_MUST;

/* Copies, after all tables, the counts and the next ids. */
bool ledger_transfer_end(struct ledger *source, struct ledger *target, struct error *error) OD_MUST;

/* Returns true if rows and next ids are equal. The error names the table that differs. */
bool ledger_transfer_compare(struct ledger *source, struct ledger *target, struct error *error) OD_MUST;

#endif
