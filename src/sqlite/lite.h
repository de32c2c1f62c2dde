/* SPDX-License-Identifier: ISC
 *
 * A session with a ledger in a SQLite file. A step is executed when it is added, unless an earlier one failed; its
 * rows wait for lite_next. Functions without a comment: see sql_engine.h. On false or NULL the error is set. */
#ifndef ONCEDROP_LITE_H
#define ONCEDROP_LITE_H

#include <glib.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "sql/sql.h"
#include "sql/sql_engine.h"

/* The files' suffixes: none, -wal, -shm. */
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
    GQueue results;         /* struct sql_rows of steps, in order */
    bool failed;            /* a step failed; error is set */
    struct error error;
    bool writes;  /* has the writer's lock */
    bool grouped; /* is a group's transaction (lite_writer.c) */
    enum { LITE_GROUP_NONE, LITE_GROUP_FILLS, LITE_GROUP_SENT } group_state; /* of the transaction (lite_group.c) */
    GArray *unlocks;       /* int64_t: lock bytes to release at COMMIT */
    bool lost;             /* unusable */
    uint64_t transactions; /* that could write */
    int log_pages;         /* pages in the write-ahead log */
    struct lite_files files;
    bool joined;                    /* counted by lite_files_join */
    int watch;                      /* inotify(7) of the log; 0: none */
    struct lite_accounts *accounts; /* NULL: route.account_file is not set */
};

/* lite_hint.c */
char *lite_hint(const struct config *config, const char *role, const struct error *error) OD_MUST;

/* lite_open.c */

#define LITE_DAMAGE "see DAMAGE in oncedrop-ledger(7)"
#define LITE_NO_LOG "is not written with a log ahead of it"

const char *lite_path(const struct config *config) OD_MUST;

struct sql_session *lite_open(const struct config *config, const char *application, struct error *error) OD_MUST;
void lite_close(struct sql_session *lite);

/* Creates the file (mode 0640) unless it exists, and sets WAL mode. */
bool lite_create(const struct config *config, struct error *error) OD_MUST;

/* lite_accounts.c: route.account_file, read on a separate connection, outside the ledger's transactions. */
struct lite_accounts *lite_accounts_new(const struct config *config) OD_MUST;
void lite_accounts_free(struct lite_accounts **accounts);

/* Returns a session with the file that has the name now. */
struct sql_session *lite_accounts_open(struct lite_accounts *accounts, struct error *error) OD_MUST;

/* lite_self_test.c */
extern const struct sql_self_tester lite_self_tests[];

/* lite_backup.c: the copy has mode 0640. */
bool lite_backup(const struct config *config, const char *file, struct error *error) OD_MUST;

/* lite_statement.c */

/* Returns an unopened session. lite_session_end and lite_session_free close the file. */
struct sql_session *lite_session_new(const char *path) OD_MUST;
void lite_session_end(struct sql_session *lite);
void lite_session_free(struct sql_session *lite);

/* Executes all statements of a text; returns the rows of the last. column_kinds: as in struct sql_step_text. */
struct sql_rows *lite_execute(struct sql_session *lite, const char *sql, const char *column_kinds, size_t count,
                              const struct sql_value *values, struct error *error) OD_MUST;

/* Returns whether a text of the site is one statement that only reads. */
bool lite_is_query(struct sql_session *lite, const char *sql, struct error *error) OD_MUST;

/* lite_batch.c */

/* column_kinds: NULL for a text of the site (lite_is_query). */
void lite_add_step(struct sql_session *lite, const struct sql_step_text *step, const struct sql_value *values);
void lite_add(struct sql_session *lite, const char *sql, const char *column_kinds, size_t count,
              const struct sql_value *values);
struct sql_rows *lite_next(struct sql_session *lite, struct error *error) OD_MUST;
bool lite_finish(struct sql_session *lite);

/* Ends a group's transaction after its COMMIT: runs a checkpoint if it is due. False: the session is lost. */
bool lite_end_group(struct sql_session *lite) OD_MUST;
bool lite_script(struct sql_session *lite, const char *sql, struct error *error) OD_MUST;

/* lite_watch.c */
bool lite_wait(struct sql_session *lite, const struct config *config, int fd) OD_MUST;

/* lite_rows.c */

/* Returns the error's name, such as "FULL"; "" unless callers act on it. */
const char *lite_error_name(int rc) OD_MUST;

/* Sets the error, with that name as the code. Returns false. After an I/O error or corruption the session is lost. */
bool lite_fail(struct sql_session *lite, int rc, struct error *error);

/* Sets the error by errno. Returns false. */
bool lite_file_fail(const char *what, const char *path, struct error *error);

/* Executes the statement. column_kinds: as in struct sql_step_text. */
struct sql_rows *lite_run(struct sql_session *lite, sqlite3_stmt *statement, const char *column_kinds,
                          struct error *error) OD_MUST;

/* Binds those of the values that the statement has: ?1, ... */
bool lite_bind(sqlite3_stmt *statement, size_t count, const struct sql_value *values) OD_MUST;

/* lite_files.c: ensures that all sessions use the same files, by a record in the lock file. Changing it requires the
 * writer's lock. */

/* In errors; lite_hint.c looks for it. */
#define LITE_REPLACED "was replaced, or written by another program"
#define LITE_CHANGED "database: %s%s %s while it was in use"
#define LITE_MOVED "was moved, replaced, cut or removed"

/* Returns the lock file's inode; 0: unknown. */
int64_t lite_files_node(int lock_file) OD_MUST;

/* Examines the files; those that are not there have node 0. Returns false with errno if that fails: then nothing is known
 * of them, and nothing may be recorded. */
bool lite_files_see(const char *path, struct lite_files *ret) OD_MUST;

/* Returns false if a file was replaced or truncated. */
bool lite_files_same(const struct lite_files *was, const struct lite_files *now) OD_MUST;

/* Returns whether the present files are as recorded; then opening them requires no lock. */
bool lite_files_recorded(const char *path, int lock_file, struct lite_files *ret) OD_MUST;

/* Precondition: the writer's lock, and files not as recorded. Removes an index (-shm) of another log before the
 * files are opened. Returns false if the ledger does not match its log, and changes nothing. */
bool lite_files_prepare(struct sql_session *lite, int lock_file, struct error *error) OD_MUST;

/* Records the present files. A checkpoint clears the record before it changes the ledger. */
void lite_files_record(const char *path, int lock_file);

/* Makes the names of the files durable: a precondition of lite_files_record, for new files. */
bool lite_files_sync_directory(const char *path, struct error *error) OD_MUST;

/* Then SQLite need not do so in each process. Once in a process; further calls do nothing. */
void lite_files_sync_once(void);
bool lite_files_forget(int lock_file) OD_MUST;

/* Counts a session that has opened its files. Returns false if they are not those of `before`. */
bool lite_files_join(struct sql_session *lite, const struct lite_files *before) OD_MUST;
void lite_files_leave(struct sql_session *lite);

/* Precondition: the writer's lock. Called before a session writes: if the files are not those it opened, or not as
 * recorded, returns false, and the session is lost. */
bool lite_files_unchanged(struct sql_session *lite, int lock_file, struct error *error) OD_MUST;

/* lite_lock.c: locks bytes of the lock file next to the ledger. A process opens it once: closing it would release
 * all its locks (fcntl(2)), as the process's end does. */

/* Opens it unless this process has. */
bool lite_lock_open(const char *path, struct error *error) OD_MUST;

int lite_lock_file(void) OD_MUST;

/* Waits for the writer's lock, unless another session of this process has it. */
bool lite_lock_to_open(struct sql_session *lite, struct error *error) OD_MUST;

/* Waits for the writer's lock. Transactions that write and checkpoints require it: SQLite up to 3.51.2 can lose
 * pages if a COMMIT meets a checkpoint of another connection (sqlite.org/wal.html), and its busy handler is no
 * queue. If the files have changed, returns false; the session is lost. */
bool lite_lock_writer(struct sql_session *lite, struct error *error) OD_MUST;
void lite_unlock_writer(struct sql_session *lite);

bool lite_writer_is_free(void) OD_MUST;

/* Keeps *ret up to date: whether this process has locked a message. */
void lite_lock_report_to(_Atomic bool *ret);

/* Adds SQL functions for message locks: oncedrop_lock, _locked, _unlock, _holder. */
bool lite_lock_functions(struct sql_session *lite, struct error *error) OD_MUST;

/* Ends a transaction; if committed, releases what it unlocked. */
void lite_unlock_released(struct sql_session *lite, bool committed);

void lite_unlock_all(struct sql_session *lite);

/* lite_group.c
 * Group commit in the service: one process, the writer, executes the transactions of all workers that wait, each in a
 * savepoint, and commits them together, so that they share a sync. A worker shares memory with the writer, at the same
 * address; by itself it reads, locks messages, and executes what needs more memory, or everything while no other worker
 * delivers. */

#define LITE_STEPS_MAX 128     /* of a transaction */
#define LITE_VALUES_MAX 131072 /* bytes */

/* FREE: the worker has it; WAITS: it has a transaction; TAKEN: the writer has it. */
enum lite_member_state { LITE_MEMBER_FREE, LITE_MEMBER_WAITS, LITE_MEMBER_TAKEN };

enum lite_member_outcome {
    LITE_MEMBER_UNKNOWN, /* committed or not; or the worker's session has other files. The session is lost */
    LITE_MEMBER_COMMITTED,
    LITE_MEMBER_FAILED,   /* not committed */
    LITE_MEMBER_RETURNED, /* not executed: the worker is to do that */
};

/* What a worker shares with the writer. */
struct lite_member {
    _Atomic int state;       /* enum lite_member_state */
    _Atomic bool delivers;   /* the worker has locked a message */
    sem_t replied;           /* posted when it is FREE again */
    struct lite_files files; /* that the worker has open, and its lock file */
    int64_t lock_node;
    size_t steps;
    struct lite_step {
        enum sql_step step;
        const struct sql_step_text *text;
        const struct sql_value *values;
        size_t count;    /* result: rows */
        int64_t changed; /* result: rows changed */
    } step[LITE_STEPS_MAX];
    enum lite_member_outcome outcome;
    struct error error;
    uint64_t group;                   /* number of the last that it was in; of the writer */
    bool has_other_files, has_failed; /* its part in this one; of the writer */
    size_t used;
    unsigned char bytes[LITE_VALUES_MAX]; /* the values */
};

struct lite_group {
    struct sql_group shared;
    size_t size, count;
    bool is_left;
    int wake_fds[2];      /* a pipe to the writer; its end: all workers have ended */
    _Atomic pid_t writer; /* 0: none; workers write by themselves */
    uint64_t number;      /* of transactions of the group; of the writer */
    struct lite_member members[];
};

/* See sql_engine.h. */
struct sql_group *lite_group_new(size_t members) OD_MUST;
void lite_group_join(struct sql_group *shared, size_t number);
void lite_group_writer_died(struct sql_group *shared);
void lite_group_leave(struct sql_group *shared);

/* Returns whether the writer executes it: the ends of the transaction are the group's, the locks the worker's. */
bool lite_group_executes(enum sql_step step) OD_MUST;

/* Adds a step to a transaction for the writer, and sends it at its COMMIT. False: this session must execute the step. */
bool lite_group_add(struct sql_session *lite, enum sql_step step, const struct sql_step_text *text,
                    const struct sql_value *values) OD_MUST;

/* Waits for the results of what was sent, and executes what was not. */
void lite_group_end(struct sql_session *lite);

/* lite_writer.c */
void lite_group_write(struct sql_group *shared, const struct config *config);

#endif
