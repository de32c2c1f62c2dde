/* SPDX-License-Identifier: ISC
 *
 * An engine: its texts of the steps, and its implementation of sql.h. */
#ifndef ONCEDROP_SQL_ENGINE_H
#define ONCEDROP_SQL_ENGINE_H

#include "base/config.h"
#include "sql/sql_value.h"
#include "sql_steps.h"

struct sql_step_text {
    const char *name;
    unsigned params;          /* number of parameters */
    const char *names;        /* of parameters, separated by blanks; ":content" marks message content */
    const char *column_kinds; /* per column: t boolean, n number, j JSON, b bytes, - the value's own */
    const char *text;         /* NULL: only other engines have it (steps.awk) */
};

struct sql_session;

/* Begins an engine's own structure. */
struct sql_group {
    const struct sql_engine *engine;
};

#define SQL_LOST "connection lost"
#define SQL_TIMED_OUT "no answer in time"
#define SQL_TOO_LARGE "database: the answer is larger than %lld MiB"
#define SQL_NO_CONNECTION "database: no connection"
#define SQL_NOT_GRANTED "the lock is not granted although it is free"
#define SQL_INSTALL "run: oncedrop ledger install, or after an update: oncedrop ledger upgrade"
#define SQL_UPGRADE "run: oncedrop ledger upgrade"
#define SQL_VERIFIED "TLS, certificate and name verified"
#define SQL_UNVERIFIED "TLS, but not verified (database.tls): anybody in between can read password and mail"
#define SQL_CLEAR "in the clear (database.tls): anybody in between can read password and mail"

#define SQL_WATCH_MS 10000 /* how long an engine's wait() takes at most */

enum sql_self_test { SQL_SELF_TEST_END, SQL_SELF_TEST_OK, SQL_SELF_TEST_WARNING, SQL_SELF_TEST_FAILED };

/* Why a step failed, where callers need to know. */
enum sql_failure {
    SQL_FAILURE_OTHER,        /* 0 */
    SQL_FAILURE_LOCK_TIMEOUT, /* waiting for a lock */
    SQL_FAILURE_CONFLICT,     /* another transaction won; this one is rolled back, in MariaDB even at COMMIT */
    SQL_FAILURE_NO_LOCK,      /* the engine has no such lock */
    SQL_FAILURE_NO_USER,      /* the process's user is unknown */
    SQL_FAILURE_REFUSED,      /* the user lacks a right */
    SQL_FAILURE_OTHER_HOST,   /* conninfo excludes this host from deliveries */
};

/* An error code of the engine. */
struct sql_failure_code {
    const char *code;
    enum sql_failure failure;
};

/* Tests what no step can show. Precondition: the process has no session. Takes milliseconds, or as long as another
 * process writes. Sets *ret to what was observed, with a hint unless it is good. */
struct sql_self_tester {
    const char *name; /* a word */
    bool connects;    /* needs a database that sessions can be opened with */
    enum sql_self_test (*run)(const struct config *config, struct error *ret);
};

/* A file of schema/, compiled in by embed.sh. */
struct sql_schema_file {
    int version;
    const char *name, *text;
};

/* What a mark in the schema's texts stands for; %s is database.schema. */
struct sql_schema_mark {
    const char *mark, *text;
};

/* NULL in place of a function: see each. Lists end with an entry of zeros. */
struct sql_engine {
    const char *name;
    const struct sql_step_text *steps; /* [SQL_STEPS] */
    const char *pool_hint;             /* " (...)": how to enlarge its pools, or "" */
    bool in_process;                   /* executes a step when it is added; in a group, at its COMMIT */

    struct sql_session *(*open)(const struct config *config, const char *application, struct error *error);
    void (*close)(struct sql_session *session);
    bool (*usable)(const struct sql_session *session);
    bool (*in_transaction)(const struct sql_session *session);
    void (*check_connection)(struct sql_session *session);                       /* NULL: there is none */
    void (*set_timeout)(struct sql_session *session, int64_t ms);                /* NULL: has none */
    void (*unlimit_result)(struct sql_session *session);                         /* NULL: has no limit */
    const char *(*tls_summary)(const struct sql_session *session, bool *ret_ok); /* NULL: a file */

    void (*add)(struct sql_session *session, enum sql_step step, const struct sql_value *values);
    void (*add_text)(struct sql_session *session, const char *text, struct sql_value value);
    bool (*send)(struct sql_session *session, struct error *error); /* NULL: nothing to do */

    /* Returns the next step's result, in order; NULL: it failed. Called for steps that were sent; not again after a
     * failure in the batch. */
    struct sql_rows *(*next)(struct sql_session *session, struct error *error);

    /* Returns whether the COMMIT whose result was the last did commit. NULL: a COMMIT without an error does. */
    bool (*committed)(struct sql_session *session, struct error *error);
    bool (*finish)(struct sql_session *session);
    bool (*script)(struct sql_session *session, const char *text, struct error *error);

    /* As sql_wait(). The first call returns at once. False: it does not notice commits. NULL: it never does. */
    bool (*wait)(struct sql_session *session, const struct config *config, int fd);

    /* Without a session: */

    /* Creates what a session needs, if missing, so that the schema can be installed. NULL: the administrator does. */
    bool (*create)(const struct config *config, struct error *error);

    /* Copies the ledger, online, to a new file. NULL: the engine has its own programs for that. */
    bool (*backup)(const struct config *config, const char *file, struct error *error);

    /* Group commit among processes of one parent, which makes the group before it forks them: members join by number, from
     * 0, and one more process writes for them until they have ended. The parent says when it has died, and leaves the group
     * when neither is started again: then the writer's end frees it. NULL: the database does this by itself. */
    struct sql_group *(*group_new)(size_t members);
    void (*group_join)(struct sql_group *group, size_t number);
    void (*group_write)(struct sql_group *group, const struct config *config);
    void (*group_writer_died)(struct sql_group *group);
    void (*group_leave)(struct sql_group *group);

    /* Returns conninfo for only its n-th host, and *ret_name (may be NULL): new strings. NULL: it has fewer hosts.
     * The function is NULL: there are no hosts. */
    char *(*nth_host)(const struct config *config, size_t n, char **ret_name);

    /* Returns whether service.user would log in under its own name, as no other is configured. NULL: it would. */
    bool (*login_is_service)(const struct config *config);

    /* Returns a hint for a step's error, or one of open: a new string, or NULL. role: that the step needs. */
    char *(*hint)(const struct config *config, const char *role, const struct error *error);

    /* Returns the command that allows a login which open was refused: a new string, or NULL. NULL: none is known. */
    char *(*login_command)(const struct config *config, const struct error *error);

    const struct sql_failure_code *failures;
    const struct sql_self_tester *self_tests; /* NULL: none */
    const char *holders_hint; /* how an administrator sees who holds locks, and since when; %s is database.schema */

    /* The schema's files by version, and the statements before and after them. */
    const struct sql_schema_file *schema;
    const struct sql_schema_mark *schema_marks;
    const char *schema_begin, *schema_end;
    const char *schema_alone; /* after schema_begin: other installers wait; NULL: they do anyway */
    const char *schema_again; /* ends the statement that records a version: it may be there */
};

/* sql_engine.c
 * What an engine can do without a session. */

enum sql_failure sql_failure(const struct sql_failure_code *failures, const struct error *error) OD_MUST;

/* Adds a hint, if one is known, to a step's error; role: that the step needs. */
void sql_add_hint(const struct sql_engine *engine, const struct config *config, const char *role, struct error *error);

/* Like sql_add_hint(), for the error of opening a session. */
void sql_add_login_hint(const struct sql_engine *engine, const struct config *config, const char *role,
                        struct error *error);

/* See nth_host. */
char *sql_nth_host(const struct sql_engine *engine, const struct config *config, size_t n, char **ret_name) OD_MUST;

/* Returns a new string: `text` with %s replaced by database.schema. */
char *sql_with_schema(const struct config *config, const char *text) OD_MUST;

/* Returns the schema's statements of all versions after `from`, a new string. */
char *sql_schema(const struct sql_engine *engine, const struct config *config, int from) OD_MUST;

/* sql_load.c */

/* Returns the engine of database.conninfo, loaded if it is a module (base/module.c). NULL with the error set; a later
 * call retries. */
const struct sql_engine *sql_load(const struct config *config, struct error *error) OD_MUST;

/* sql_debug.c
 * Steps in the debug log: "sql: NAME (PARAMETER VALUE, ...)" when added, "sql: NAME: RESULT" when the result is used.
 * Long values are truncated; of bytes and message content only the size is logged. Precondition: debug_sql. */

void sql_debug_opened(const struct sql_engine *engine, const struct config *config, bool opened,
                      const struct error *error);

void sql_debug_added(const struct sql_step_text *step, const struct sql_value *values);

void sql_debug_added_text(const struct sql_value *value);

/* rows: NULL: unused. us: microseconds of waiting or execution; -1: unknown. */
void sql_debug_result(const char *name, const struct sql_rows *rows, int64_t us);

void sql_debug_failed(const char *name, const struct error *error);

#endif
