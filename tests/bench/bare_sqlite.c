/* SPDX-License-Identifier: ISC
 *
 * A ledger in a file: the rows that oncedrop writes, in two transactions. */
#include <err.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "bare_ledger.h"

#define LOG_PAGES 150       /* before a checkpoint, as in src/sqlite/lite_batch.c */
#define LOG_PAGES_KEPT 1000 /* by a session that is reused */

enum statement {
    BEGIN,
    STATE,
    MESSAGE,
    ADDRESS,
    PART,
    DELIVERY,
    ATTEMPT,
    COPY,
    COPY_STORED,
    DELIVERY_STORED,
    ATTEMPT_STORED,
    COMMIT,
    STATEMENTS
};

/* One line each, in that order. */
static const char *const texts[STATEMENTS] = {
    "BEGIN IMMEDIATE",
    "SELECT id FROM message WHERE identity = ?",
    "INSERT INTO message (identity, digest, lock_key, message_id, sender, \"from\", subject, date, size, received_at)"
    " VALUES (?1, ?1, ?2, ?3, ?4, '', 'Message', 0, ?5, ?6)",
    "INSERT INTO address (message, role, position, address) VALUES (?1, ?2, 1, ?3)",
    "INSERT INTO part (message, path, type, size, sha256, text) VALUES (?1, '1', 'text/plain', ?2, ?3, ?4)",
    "INSERT INTO delivery (message, recipient, account, mailbox, host, outcome, first_at, last_at)"
    " VALUES (?1, ?2, ?2, 'INBOX', 'host', 'claimed', ?3, ?3)",
    "INSERT INTO attempt (delivery, claim, started_at, host, pid, outcome, read_ms, lock_ms, database_ms, imap_ms)"
    " VALUES (?1, ?2, ?3, 'host', ?4, 'claimed', 0, 0, 0, 0)",
    "INSERT INTO copy (message, account, mailbox, role, state, claimed_at, claim, claimed_by, host, pid, first_at, boot,"
    " boot_us, host_us) VALUES (?1, ?2, 'INBOX', 'inbox', 'appending', ?3, ?4, ?5, 'host', ?6, ?3, ?4, ?3, 0)",
    "UPDATE copy SET state = 'stored', stored_at = ?2, uidvalidity = ?3, uid = ?4 WHERE id = ?1",
    "UPDATE delivery SET outcome = 'stored', reason = 'stored uid=1 mailbox=INBOX', last_at = ?2, finished_at = ?2,"
    " complete = 1 WHERE id = ?1",
    "UPDATE attempt SET outcome = 'stored', reason = 'stored uid=1 mailbox=INBOX', ended_at = ?3 WHERE delivery = ?1"
    " AND claim = ?2",
    "COMMIT",
};

static sqlite3 *ledger;
static sqlite3_stmt *statements[STATEMENTS];
static int log_pages, log_pages_max;
static struct {
    int64_t claim, delivery, copy;
} begun;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Values by type: i int64_t, t text, h 32 bytes; s the size and start of a text. Returns the new row's id. */
static int64_t run(enum statement number, const char *types, ...)
{
    sqlite3_stmt *statement = statements[number];
    va_list values;
    va_start(values, types);
    for (int at = 1; types[at - 1] != '\0'; at++) {
        if (types[at - 1] == 'i') {
            sqlite3_bind_int64(statement, at, va_arg(values, int64_t));
        } else if (types[at - 1] == 't') {
            sqlite3_bind_text(statement, at, va_arg(values, const char *), -1, SQLITE_STATIC);
        } else if (types[at - 1] == 'h') {
            sqlite3_bind_blob(statement, at, va_arg(values, const char *), 32, SQLITE_STATIC);
        } else {
            int size = va_arg(values, int);
            sqlite3_bind_text(statement, at, va_arg(values, const char *), size, SQLITE_STATIC);
        }
    }
    va_end(values);
    int rc = sqlite3_step(statement);
    if ((rc != SQLITE_DONE && rc != SQLITE_ROW) || sqlite3_reset(statement) != SQLITE_OK)
        errx(1, "%s: %s", texts[number], sqlite3_errmsg(ledger));
    return sqlite3_last_insert_rowid(ledger);
}

static int note_log(void *unused, sqlite3 *db, const char *name, int pages)
{
    (void)unused, (void)db, (void)name;
    log_pages = pages;
    return SQLITE_OK;
}

static void commit(void)
{
    run(COMMIT, "");
    if (log_pages > log_pages_max)
        sqlite3_wal_checkpoint_v2(ledger, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

void ledger_open(const char *path, int kept)
{
    if (sqlite3_open_v2(path, &ledger, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(ledger, 60000) != SQLITE_OK ||
        sqlite3_exec(ledger, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", NULL, NULL, NULL) != SQLITE_OK)
        errx(1, "%s: %s", path, sqlite3_errmsg(ledger));
    sqlite3_wal_hook(ledger, note_log, NULL);
    log_pages_max = kept ? LOG_PAGES_KEPT : LOG_PAGES;
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(ledger, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &statements[i], NULL) != SQLITE_OK)
            errx(1, "%s: %s", texts[i], sqlite3_errmsg(ledger));
}

void ledger_claim(const struct bare_message *message)
{
    run(BEGIN, "");
    run(STATE, "h", message->hash);
    int64_t row = run(MESSAGE, "hittii", message->hash, message->claim, message->message_id, "lisa@elsewhere.example",
                      message->size, now());
    run(ADDRESS, "itt", row, "from", "lisa@elsewhere.example");
    run(ADDRESS, "itt", row, "to", message->account);
    run(PART, "iihs", row, message->size, message->hash, message->text_size, message->text);
    begun.claim = message->claim;
    begun.delivery = run(DELIVERY, "iti", row, message->account, now());
    run(ATTEMPT, "iiii", begun.delivery, message->claim, now(), (int64_t)getpid());
    begun.copy = run(COPY, "itiiii", row, message->account, now(), message->claim, begun.delivery, (int64_t)getpid());
    commit();
}

void ledger_settle(unsigned uidvalidity, unsigned uid)
{
    run(BEGIN, "");
    run(COPY_STORED, "iiii", begun.copy, now(), (int64_t)uidvalidity, (int64_t)uid);
    run(DELIVERY_STORED, "ii", begun.delivery, now());
    run(ATTEMPT_STORED, "iii", begun.delivery, begun.claim, now());
    commit();
}

void ledger_close(void)
{
    sqlite3_db_config(ledger, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}
