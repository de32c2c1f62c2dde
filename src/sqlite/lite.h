/* SPDX-License-Identifier: ISC
 *
 * A session with a ledger in a file (SQLite). A step is executed when it is added, and its rows are kept until they are
 * taken; when one has failed, those behind it in the batch are not executed. Functions that have their like in sql_engine.h
 * do what is said there, or in sql.h. */
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
        int64_t device, node; /* node 0: there is none */
        int64_t size;
    } file[LITE_FILES];
    int64_t written_ns; /* when the ledger itself was, since 1970 */
};

struct sql_session {
    sqlite3 *db;
    char *path;             /* of the file; in a fault's text */
    GHashTable *statements; /* prepared on this connection: text -> struct prepared */
    GPtrArray *results;     /* of the batch: struct sql_rows by mark; NULL: taken, or not executed */
    size_t added;           /* to the batch: steps, executed or not */
    bool failed;            /* a step of the batch has; the fault says why, and results ends there */
    bool told;              /* the caller has the fault */
    struct fault fault;
    bool writes;                    /* the session has the writer's lock */
    GArray *unlocks;                /* int64_t: bytes of locks that go with the COMMIT of the transaction */
    bool lost;                      /* what is on the disk is not known: not to be used any more */
    uint64_t transactions;          /* that could write, so far */
    int log_pages;                  /* pages in the write-ahead log after the last COMMIT */
    struct lite_files files;        /* the open files, as they were when last looked at */
    bool joined;                    /* counts as a session of this process */
    struct lite_accounts *accounts; /* NULL: route.account_file is not set */
};

/* lite_fault.c */

/* SQLite's name of an error, as of SQLITE_FULL "FULL"; "" if callers do not decide by it. */
const char *lite_error_name(int error) OD_MUST;

/* Sets the fault to what went wrong, with that name as the code. Always false. */
bool lite_fail(struct sql_session *lite, int error, struct fault *fault);

/* lite_remedy.c */
void lite_add_remedy(const struct config *config, const char *role, struct fault *fault);

/* lite_open.c */

#define LITE_NO_LOG "is not written with a log ahead of it"

/* The path of the file that conninfo names. */
const char *lite_path(const struct config *config) OD_MUST;

struct sql_session *lite_open(const struct config *config, const char *application, struct fault *fault) OD_MUST;
void lite_close(struct sql_session *lite);

/* Creates the file, empty, readable and writable by its owner, and readable by its group; one that is there stays as it
 * is. False with the fault set if that fails. */
bool lite_create(const struct config *config, struct fault *fault) OD_MUST;

/* lite_accounts.c: the site's own file, route.account_file, which is only read, and by a connection of its own: so it is
 * never part of a transaction of the ledger, and a lock on it delays nobody. */
struct lite_accounts *lite_accounts_new(const struct config *config) OD_MUST;
void lite_accounts_free(struct lite_accounts **accounts);

/* A session with the file that has the name now. NULL with the fault set. */
struct sql_session *lite_accounts_open(struct lite_accounts *accounts, struct fault *fault) OD_MUST;

/* lite_prove.c: as in sql_engine.h. */
enum sql_proof lite_prove(const struct config *config, bool connects, size_t n, const char **ret_name,
                          struct fault *ret) OD_MUST;

/* lite_backup.c: a copy, as sql_engine.h has it; readable by its owner and the group. */
bool lite_backup(const struct config *config, const char *file, struct fault *fault) OD_MUST;

/* lite_statement.c */

/* A session with this file, which is not open yet. lite_session_end closes the file; free does, too. */
struct sql_session *lite_session_new(const char *path) OD_MUST;
void lite_session_end(struct sql_session *lite);
void lite_session_free(struct sql_session *lite);

/* Executes all statements of a text. The rows of the last; NULL with the fault set. gives: as in lite_run. */
struct sql_rows *lite_execute(struct sql_session *lite, const char *sql, const char *gives, size_t count,
                              const struct sql_value *values, struct fault *fault) OD_MUST;

/* Whether a text of the site's own is one statement that only reads, as PostgreSQL makes sure of; else the fault is set. */
bool lite_is_query(struct sql_session *lite, const char *sql, struct fault *fault) OD_MUST;

/* lite_batch.c */

/* gives: NULL for a text of the site's own, which must be one statement that only reads. */
void lite_add(struct sql_session *lite, const char *sql, const char *gives, size_t count,
              const struct sql_value *values);
bool lite_send(struct sql_session *lite, struct fault *fault) OD_MUST;
size_t lite_mark(const struct sql_session *lite) OD_MUST;
struct sql_rows *lite_take(struct sql_session *lite, size_t mark, struct fault *fault) OD_MUST;
bool lite_passed(struct sql_session *lite, size_t mark, struct fault *fault) OD_MUST;
bool lite_finish(struct sql_session *lite);
bool lite_script(struct sql_session *lite, const char *sql, struct fault *fault) OD_MUST;

/* lite_rows.c: steps the statement to its end; NULL with the fault set. gives: as struct sql_step_text has it. */
struct sql_rows *lite_run(struct sql_session *lite, sqlite3_stmt *statement, const char *gives,
                          struct fault *fault) OD_MUST;

/* Binds the values to the parameters $1 ... that the statement has. */
bool lite_bind(sqlite3_stmt *statement, size_t count, const struct sql_value *values) OD_MUST;

/* lite_files.c: whether all sessions have the same files. lock_file: the open lock file, which has a record of them. Changing the
 * record requires the writer's lock. */

/* Part of a fault's text, by which lite_remedy.c recognises it. */
#define LITE_REPLACED "was replaced, or written by another program"

/* Finds the files that are there now. */
void lite_files_see(const char *path, struct lite_files *ret);

/* Whether these are still the same files, and none was cut. */
bool lite_files_same(const struct lite_files *was, const struct lite_files *now) OD_MUST;

/* Whether the files that are there now are the recorded ones; then they can be opened without a lock. */
bool lite_files_recorded(const char *path, int lock_file, struct lite_files *ret) OD_MUST;

/* To be called with the writer's lock, before files are opened that are not the recorded ones. Removes an index that belongs to
 * another log. False with the fault set if the ledger does not match its log: both stay as they are. */
bool lite_files_prepare(struct sql_session *lite, int lock_file, struct fault *fault) OD_MUST;

/* Records the files that are there now. Before a checkpoint changes the ledger, the record is cleared; false if that fails. */
void lite_files_record(const char *path, int lock_file);
bool lite_files_forget(int lock_file) OD_MUST;

/* To be called when the session has opened the files; false if the files that are there now are not those of `before`. */
bool lite_files_join(struct sql_session *lite, const struct lite_files *before) OD_MUST;
void lite_files_leave(struct sql_session *lite);

/* To be called with the writer's lock, before the session writes. False with the fault set if the files are not those that the
 * session opened, or not the recorded ones: then the session is lost. */
bool lite_files_in_place(struct sql_session *lite, int lock_file, struct fault *fault) OD_MUST;

/* lite_lock.c: bytes of the lock file, which lies beside the ledger and is opened once in a process: closing it would drop
 * all locks that the process has on it (fcntl(2)). A lock ends with its process, however that ends. */

/* Opens it, if this process has not; false with the fault set. */
bool lite_lock_open(const char *path, struct fault *fault) OD_MUST;

/* The open lock file. */
int lite_lock_file(void) OD_MUST;

/* Waits for the writer's lock, to open files; nothing to do if another session of this process has it. */
bool lite_lock_to_open(struct sql_session *lite, struct fault *fault) OD_MUST;

/* Waits for the writer's lock. Every transaction that writes and every checkpoint has it: SQLite up to 3.51.2 can lose
 * pages if a COMMIT and a checkpoint of two connections meet (sqlite.org/wal.html), and its own waiting is no queue. False
 * with the fault set if that fails, or if the files are not those that others have; then the session is lost. */
bool lite_lock_writer(struct sql_session *lite, struct fault *fault) OD_MUST;
void lite_unlock_writer(struct sql_session *lite);

/* Whether nobody else has the writer's lock now; it is not taken. */
bool lite_writer_is_free(void) OD_MUST;

/* The locks of messages, by their keys, as functions in SQL: oncedrop_lock, _locked, _unlock, _holder. */
bool lite_lock_functions(struct sql_session *lite, struct fault *fault) OD_MUST;

/* At the end of a transaction: drops the locks that were given back in it; those stay that it has not committed. */
void lite_unlock_given_back(struct sql_session *lite, bool committed);

/* Drops all that the session has. */
void lite_unlock_all(struct sql_session *lite);

/* lite_schema.c */

int lite_schema_needed(void) OD_MUST;
char *lite_schema_sql(const struct config *config, int from) OD_MUST;
const char *lite_schema_begin(bool alone) OD_MUST;

#endif
