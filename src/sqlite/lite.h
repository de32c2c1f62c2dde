/* SPDX-License-Identifier: ISC
 *
 * A session with a ledger in a SQLite file. A step is executed when it is added; its rows are kept until taken.
 * Steps after a failed one are not executed. Functions without a comment are described in sql_engine.h or sql.h. */
#ifndef ONCEDROP_LITE_H
#define ONCEDROP_LITE_H

#include <glib.h>
#include <sqlite3.h>

#include "sql/sql.h"
#include "sql/sql_engine.h"
#include "sql/sql_text.h"

/* The files that SQLite opens for a ledger. */
enum lite_which { LITE_LEDGER, LITE_LOG, LITE_INDEX, LITE_FILES };

struct lite_files {
    struct lite_file {
        int64_t device, node; /* node 0: no file */
        int64_t size;
    } file[LITE_FILES];
    int64_t written_ns; /* modification time of the ledger */
};

struct sql_session {
    sqlite3 *db;
    char *path;
    GHashTable *statements; /* text -> struct prepared */
    GPtrArray *results;     /* of the batch: struct sql_rows by mark; NULL: taken */
    size_t added;           /* steps of the batch, executed or not */
    bool failed;            /* a step failed; fault is set, and results ends there */
    bool told;              /* the caller has got fault */
    struct fault fault;
    bool writes;                    /* has the writer's lock */
    GArray *unlocks;                /* int64_t: lock bytes to release at COMMIT */
    bool lost;                      /* unusable: the state on disk is unknown */
    uint64_t transactions;          /* that could write */
    int log_pages;                  /* pages in the write-ahead log after the last COMMIT */
    struct lite_files files;        /* the open files, as last seen */
    bool joined;                    /* counted by lite_files_join */
    struct lite_accounts *accounts; /* NULL: route.account_file is not set */
};

/* lite_fault.c */

/* Returns the name of an error that callers act on, such as "FULL"; "" for others. */
const char *lite_error_name(int error) OD_MUST;

/* Sets the error to SQLite's message, with that name as the code. The session is lost after I/O errors and
 * corruption. Returns false. */
bool lite_fail(struct sql_session *lite, int error, struct fault *fault);

/* lite_remedy.c */
void lite_add_remedy(const struct config *config, const char *role, struct fault *fault);

/* lite_open.c */

#define LITE_NO_LOG "is not written with a log ahead of it"

/* Returns the path in conninfo. */
const char *lite_path(const struct config *config) OD_MUST;

struct sql_session *lite_open(const struct config *config, const char *application, struct fault *fault) OD_MUST;
void lite_close(struct sql_session *lite);

/* Creates an empty file with mode 0640 unless there is one, and sets WAL mode. Returns false and sets the error. */
bool lite_create(const struct config *config, struct fault *fault) OD_MUST;

/* lite_accounts.c: the site's file, route.account_file. It is read on a connection of its own, outside the ledger's
 * transactions. */
struct lite_accounts *lite_accounts_new(const struct config *config) OD_MUST;
void lite_accounts_free(struct lite_accounts **accounts);

/* Returns a session with the file that has the name now; NULL with the error set. */
struct sql_session *lite_accounts_open(struct lite_accounts *accounts, struct fault *fault) OD_MUST;

/* lite_prove.c */
enum sql_proof lite_prove(const struct config *config, bool connects, size_t n, const char **ret_name,
                          struct fault *ret) OD_MUST;

/* lite_backup.c: the copy has mode 0640. */
bool lite_backup(const struct config *config, const char *file, struct fault *fault) OD_MUST;

/* lite_statement.c */

/* Returns a session that is not open yet. lite_session_end and lite_session_free close the file. */
struct sql_session *lite_session_new(const char *path) OD_MUST;
void lite_session_end(struct sql_session *lite);
void lite_session_free(struct sql_session *lite);

/* Executes all statements of a text. Returns the rows of the last; NULL with the error set. gives: see lite_run. */
struct sql_rows *lite_execute(struct sql_session *lite, const char *sql, const char *gives, size_t count,
                              const struct sql_value *values, struct fault *fault) OD_MUST;

/* Returns true if a text of the site is one statement that only reads; else sets the error. */
bool lite_is_query(struct sql_session *lite, const char *sql, struct fault *fault) OD_MUST;

/* lite_batch.c */

/* gives: NULL for a text of the site, checked by lite_is_query. */
void lite_add(struct sql_session *lite, const char *sql, const char *gives, size_t count,
              const struct sql_value *values);
bool lite_send(struct sql_session *lite, struct fault *fault) OD_MUST;
size_t lite_mark(const struct sql_session *lite) OD_MUST;
struct sql_rows *lite_take(struct sql_session *lite, size_t mark, struct fault *fault) OD_MUST;
bool lite_passed(struct sql_session *lite, size_t mark, struct fault *fault) OD_MUST;
bool lite_finish(struct sql_session *lite);
bool lite_script(struct sql_session *lite, const char *sql, struct fault *fault) OD_MUST;

/* lite_rows.c: steps the statement to its end; NULL with the error set. gives: see struct sql_step_text. */
struct sql_rows *lite_run(struct sql_session *lite, sqlite3_stmt *statement, const char *gives,
                          struct fault *fault) OD_MUST;

/* Binds the values to the statement's parameters $1 ... */
bool lite_bind(sqlite3_stmt *statement, size_t count, const struct sql_value *values) OD_MUST;

/* lite_files.c: ensures that all sessions use the same files. lock_file: the open lock file, which records them.
 * Changing the record requires the writer's lock. */

/* In an error's text: lite_remedy.c looks for it. */
#define LITE_REPLACED "was replaced, or written by another program"

/* Reads identity and size of the present files. */
void lite_files_see(const char *path, struct lite_files *ret);

/* Returns true if the files are the same, and none was truncated. */
bool lite_files_same(const struct lite_files *was, const struct lite_files *now) OD_MUST;

/* Returns true if the present files are the recorded ones; then they can be opened without a lock. */
bool lite_files_recorded(const char *path, int lock_file, struct lite_files *ret) OD_MUST;

/* Precondition: the writer's lock; the present files are not the recorded ones. Removes an index (-shm) of another
 * log, so that the files can be opened. If the ledger does not match its log, changes nothing, returns false and
 * sets the error. */
bool lite_files_prepare(struct sql_session *lite, int lock_file, struct fault *fault) OD_MUST;

/* Records the present files. A checkpoint clears the record before it changes the ledger; false if that fails. */
void lite_files_record(const char *path, int lock_file);
bool lite_files_forget(int lock_file) OD_MUST;

/* Counts a session that has opened the files. Returns false if the present files are not those of `before`. */
bool lite_files_join(struct sql_session *lite, const struct lite_files *before) OD_MUST;
void lite_files_leave(struct sql_session *lite);

/* Precondition: the writer's lock. Called before a session writes. If the files are not those that it opened, or not
 * the recorded ones, returns false and sets the error; the session is lost. */
bool lite_files_in_place(struct sql_session *lite, int lock_file, struct fault *fault) OD_MUST;

/* lite_lock.c: locks on bytes of the lock file next to the ledger. A process opens it once: closing it would drop
 * all of the process's locks (fcntl(2)). A lock ends with its process. */

/* Opens it unless this process has; false with the error set. */
bool lite_lock_open(const char *path, struct fault *fault) OD_MUST;

int lite_lock_file(void) OD_MUST;

/* Waits for the writer's lock, to open files. Does nothing if another session of this process has it. */
bool lite_lock_to_open(struct sql_session *lite, struct fault *fault) OD_MUST;

/* Waits for the writer's lock. Every transaction that writes and every checkpoint has it: SQLite up to 3.51.2 can
 * lose pages if a COMMIT and a checkpoint of two connections meet (sqlite.org/wal.html), and SQLite's busy handler
 * is no queue. False with the error set if that fails, or if the files have changed; then the session is lost. */
bool lite_lock_writer(struct sql_session *lite, struct fault *fault) OD_MUST;
void lite_unlock_writer(struct sql_session *lite);

/* Returns true if the writer's lock is free. Does not acquire it. */
bool lite_writer_is_free(void) OD_MUST;

/* Adds the SQL functions for message locks: oncedrop_lock, _locked, _unlock, _holder. */
bool lite_lock_functions(struct sql_session *lite, struct fault *fault) OD_MUST;

/* Ends a transaction: if committed, releases the locks that it unlocked; else keeps them. */
void lite_unlock_given_back(struct sql_session *lite, bool committed);

/* Releases all locks of the session. */
void lite_unlock_all(struct sql_session *lite);

/* lite_schema.c */

int lite_schema_needed(void) OD_MUST;
char *lite_schema_sql(const struct config *config, int from) OD_MUST;
const char *lite_schema_begin(bool alone) OD_MUST;

#endif
